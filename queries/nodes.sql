-- Walking the tree. In psql: psql -v path=reports/2024.pdf -f queries/nodes.sql; what is not given has the value below.
\if :{?corpus}
\else
\set corpus ''
\endif
\if :{?path}
\else
\set path .
\endif
\if :{?depth}
\else
\set depth 2
\endif
\if :{?node}
\else
select tree_builder.top(:'path', nullif(:'corpus', '')) as node \gset
\endif

-- name: get_summary
-- The summary of a document, a directory or (.) the corpus, with what lies below.
select
    s.node_id, s.corpus, s.node_type, s.path, s.title, s.summary, s.level, s.n_documents, s.n_chunks, s.n_pages, s.n_chars,
    s.built_at, s.run_id, s.stale
from tree_builder.summary(:'path'::text, nullif(:'corpus'::text, '')) as s;

-- name: fetch_outline
-- What a document or directory is made of, some steps down, one line a node.
select
    o.depth, o.node_id, o.parent_id, o.node_type, o.path, o.heading, o.level, o.page_start, o.page_end, o.char_start,
    o.char_end, o.n_children
from tree_builder.outline(:'path'::text, nullif(:'depth'::text, '')::integer, nullif(:'corpus'::text, '')) as o;

-- name: get_node
-- A published node by its id.
select
    n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, n.content,
    n.char_start, n.char_end, n.page_start, n.page_end
from tree_builder.nodes as n
where n.node_id = :'node'::uuid;

-- name: fetch_children
-- The nodes which a node covers, in order.
select
    n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, n.content,
    n.char_start, n.char_end, n.page_start, n.page_end
from tree_builder.children(:'node'::uuid) as n;

-- name: fetch_parents
-- The summaries above a node, the nearest first.
select
    n.depth, n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, n.content,
    n.char_start, n.char_end, n.page_start, n.page_end
from tree_builder.parents(:'node'::uuid) as n;

-- name: fetch_subtree
-- A node and what lies below it, some steps down, in document order.
select
    n.depth, n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, n.content,
    n.char_start, n.char_end, n.page_start, n.page_end
from tree_builder.subtree(:'node'::uuid, nullif(:'depth'::text, '')::integer) as n;

-- name: fetch_leaves
-- The passages which a node covers, in document order.
select
    n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, n.content,
    n.char_start, n.char_end, n.page_start, n.page_end
from tree_builder.leaves(:'node'::uuid) as n;
