-- How a tree came about: what changed between two runs, and why items were grouped.
-- In psql: psql -v from_run=12 -v to_run=15 -f queries/changes.sql; else the two latest runs of the corpus.
\if :{?corpus}
\else
\set corpus ''
\endif
\if :{?path}
\else
\set path .
\endif
\if :{?to_run}
\else
select c.published_run as to_run from tree_builder.corpora as c
where c.corpus_id = tree_builder.corpus_id(nullif(:'corpus', '')) \gset
\endif
\if :{?from_run}
\else
select coalesce(max(r.run_id), :to_run) as from_run from tree_builder.runs as r
where
    r.corpus_id = tree_builder.corpus_id(nullif(:'corpus', '')) and r.state = 'published'
    and r.run_id < :to_run \gset
\endif

-- name: fetch_changes
-- What came, went, moved and changed between two kept runs of one corpus, with old and new summaries.
select c.change, c.node_type, c.path, c.old_path, c.old_summary, c.new_summary, c.old_node_id, c.new_node_id
from tree_builder.changes(:'from_run'::bigint, :'to_run'::bigint, nullif(:'corpus'::text, '')) as c;

-- name: fetch_tree_at
-- The tree as a kept run published it.
select
    n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, n.content,
    n.char_start, n.char_end, n.page_start, n.page_end, n.run_id
from tree_builder.nodes_at(:'to_run'::bigint) as n
order by n.dir_path, n.doc_path nulls first, n.level desc, n.char_start, n.node_id;

-- name: fetch_boundaries
-- Why the items of a document, or of a directory (.: the corpus folder), were grouped as they are.
select
    b.corpus, b.doc_path, b.dir_path, b.node_id, b.level, b.step, b.at, b.boundary, b.method, b.verdict, b.score, b.reason
from tree_builder.boundaries as b
where
    (:'corpus'::text is null or :'corpus'::text in ('', b.corpus))
    and tree_builder.clean_path(:'path'::text) = coalesce(b.doc_path, b.dir_path)
order by b.corpus, b.level, b.at, b.node_id, b.step;
