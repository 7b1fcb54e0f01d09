-- The published tree, as a relation. Re-runnable.

create or replace view tree_builder.nodes
with (security_invoker = true) as
select
    n.node_id,
    c.corpus,
    n.node_type,
    n.level,
    n.parent_id,
    n.position,
    n.doc_path,
    n.dir_path,
    t.content,
    v.embedding,
    n.char_start,
    n.char_end,
    n.page_start,
    n.page_end,
    n.overlap,
    n.flags,
    n.decisions,
    n.text_id,
    n.since_run
from tree_builder.node as n
inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
inner join tree_builder.texts as t on n.text_id = t.text_id
left join tree_builder.vectors as v on n.text_id = v.text_id and c.model_id = v.model_id
where n.since_run <= c.published_run and n.until_run > c.published_run;
comment on view tree_builder.nodes is 'The published tree of every corpus: chunks, summaries, tops and roots.';
