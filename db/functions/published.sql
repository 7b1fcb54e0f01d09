-- The published tree without its texts and vectors: what the other functions are made from. Re-runnable.

create or replace view tree_builder.published_node
with (security_invoker = true) as
select
    n.node_id,
    n.corpus_id,
    c.corpus,
    c.model_id,
    n.node_type,
    n.level,
    n.parent_id,
    n.position,
    n.doc_path,
    n.dir_path,
    n.text_id,
    n.char_start,
    n.char_end,
    n.page_start,
    n.page_end,
    n.since_run,
    n.decisions
from tree_builder.node as n
inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
where n.since_run <= c.published_run and n.until_run > c.published_run;
comment on view tree_builder.published_node is 'The published tree of every corpus, without texts and vectors.';

create or replace view tree_builder.boundaries
with (security_invoker = true) as
select
    n.corpus,
    n.doc_path,
    n.dir_path,
    n.node_id,
    n.level - 1 as level,
    d.ordinality::integer as step,
    (d.decision ->> 'at')::integer as at,
    (d.decision ->> 'boundary')::boolean as boundary,
    d.decision ->> 'method' as method,
    d.decision ->> 'verdict' as verdict,
    (d.decision ->> 'score')::double precision as score,
    d.decision ->> 'reason' as reason
from tree_builder.published_node as n
cross join lateral jsonb_array_elements(n.decisions) with ordinality as d (decision, ordinality);
comment on view tree_builder.boundaries is
'Each decision which formed the published tree: whether the item at that place of its level starts a new group, and why.';
comment on column tree_builder.boundaries.node_id is 'The node whose group the decision was taken for.';
comment on column tree_builder.boundaries.at is 'Place of the item in question among the items of its level, from 0.';
comment on column tree_builder.boundaries.level is 'Level of the items, one below the node which covers the group.';
