-- The published tree with what a reader wants beside a node: its document's title, what it repeats. Re-runnable.

create or replace view tree_builder.placed_node
with (security_invoker = true) as
select
    n.node_id,
    c.corpus,
    n.node_type,
    n.level,
    n.position,
    n.parent_id,
    n.doc_path,
    n.dir_path,
    d.title,
    t.content,
    n.char_start,
    n.char_end,
    n.page_start,
    n.page_end,
    n.overlap,
    n.since_run as run_id
from tree_builder.node as n
inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
inner join tree_builder.texts as t on n.text_id = t.text_id
left join tree_builder.documents as d on n.corpus_id = d.corpus_id and n.doc_path = d.doc_path
where n.since_run <= c.published_run and n.until_run > c.published_run;
comment on view tree_builder.placed_node is
'The published tree as the program reads it: each node with its text and, for those of a document, the title which the file has.';
