-- What the program reads to show, walk, merge and pack: nodes with their surroundings. Searching is in search.sql.
-- In psql: psql -v path=reports -f queries/context.sql; what is not given has the value below.
\if :{?corpus}
\else
select min(corpus) as corpus from tree_builder.corpora \gset
\endif
\if :{?path}
\else
\set path .
\endif
\if :{?node_id}
\else
select tree_builder.top(:'path', :'corpus') as node_id \gset
\endif
\if :{?node_ids}
\else
select array[:'node_id'::uuid] as node_ids \gset
\endif
\if :{?run_id}
\else
select published_run as run_id from tree_builder.corpora where corpus = :'corpus' \gset
\endif
\if :{?run_ids}
\else
select array_agg(since_run) as run_ids from tree_builder.published_node where node_id = :'node_id' \gset
\endif
\if :{?run_a}
\else
\set run_a :run_id
\endif
\if :{?run_b}
\else
\set run_b :run_id
\endif
\if :{?vector}
\else
select embedding as vector from tree_builder.nodes where node_id = :'node_id' \gset
\endif
\if :{?words}
\else
\set words summary
\endif
\if :{?query}
\else
\set query summary
\endif
\if :{?languages}
\else
\set languages {en}
\endif
\if :{?found}
\else
\set found {summaries}
\endif
\if :{?k}
\else
\set k 10
\endif
\if :{?skip}
\else
\set skip 0
\endif
\if :{?depth}
\else
\set depth ''
\endif
\if :{?types}
\else
\set types ''
\endif
\if :{?min_level}
\else
\set min_level ''
\endif
\if :{?max_level}
\else
\set max_level ''
\endif
\if :{?first_page}
\else
\set first_page ''
\endif
\if :{?last_page}
\else
\set last_page ''
\endif
\if :{?since}
\else
\set since ''
\endif
\if :{?min_score}
\else
\set min_score ''
\endif

-- name: list_corpora
-- The corpora of the database, or the one of that name, with their models.
select c.corpus_id, c.corpus, c.published_run, m.model, m.dimensions
from tree_builder.corpora as c
left join tree_builder.embedding_models as m on c.model_id = m.model_id
where nullif(:'corpus'::text, '') is null or c.corpus = :'corpus'::text
order by c.corpus;

-- name: corpus_overview
-- Every corpus with its size, its model, when it was published, and its summary.
select
    c.corpus, c.folder, m.model as embedding_model, m.dimensions, c.published_run as run_id,
    r.ended_at as published_at, coalesce(s.n_documents, 0) as n_documents, s.summary
from tree_builder.corpora as c
left join tree_builder.embedding_models as m on c.model_id = m.model_id
left join tree_builder.runs as r on c.published_run = r.run_id
left join tree_builder.corpus_summaries as s on c.corpus = s.corpus
order by c.corpus;

-- name: documents_below
-- The documents below a path (`.` for all), as the last run left them, with their published summaries.
select
    d.doc_path, d.dir_path, d.title, d.status, d.reason, d.stale, d.language, d.n_pages, d.n_chars, d.n_chunks, s.summary
from tree_builder.documents as d
inner join tree_builder.corpora as c on d.corpus_id = c.corpus_id
left join tree_builder.document_summaries as s on c.corpus = s.corpus and d.doc_path = s.doc_path
where
    c.corpus = :'corpus'::text
    and (:'path'::text = '.' or d.doc_path = :'path'::text or starts_with(d.doc_path, :'path'::text || '/'))
order by d.doc_path;

-- name: find_top
-- The node which holds the summary of a path.
select p.* from tree_builder.placed_node as p
where p.node_id = tree_builder.top(:'path'::text, :'corpus'::text);

-- name: nodes_by_id
-- Published nodes by their ids.
select p.* from tree_builder.placed_node as p where p.node_id = any(:'node_ids'::uuid []);

-- name: child_nodes
-- The children of some nodes, each parent's in order.
select p.* from tree_builder.placed_node as p
where p.parent_id = any(:'node_ids'::uuid [])
order by p.parent_id, p.position;

-- name: scored_children
-- The children of some nodes, the most similar to a vector first. The corpus's model tells which vectors are compared.
select p.*, 1 - (v.embedding <=> :'vector'::vector) as similarity
from tree_builder.placed_node as p
inner join tree_builder.corpora as c on p.corpus = c.corpus
inner join tree_builder.node as n on p.node_id = n.node_id and p.run_id = n.since_run
inner join tree_builder.vectors as v on n.text_id = v.text_id and c.model_id = v.model_id
where p.parent_id = any(:'node_ids'::uuid [])
order by similarity desc, p.node_id;

-- name: nodes_above
-- The summaries above some nodes, for each from the root down.
with recursive above as (
    select n.node_id as below_id, n.parent_id, 1 as depth
    from tree_builder.published_node as n
    where n.node_id = any(:'node_ids'::uuid [])
    union all
    select a.below_id, n.parent_id, a.depth + 1
    from above as a
    -- The limit here, and the offset below, keep these look-ups by index: the planner expects far more rows than there are.
    cross join lateral (select p.parent_id from tree_builder.published_node as p where p.node_id = a.parent_id limit 1) as n
)
select a.below_id, p.*
from above as a
cross join lateral (select p.* from tree_builder.placed_node as p where p.node_id = a.parent_id limit 1) as p
order by a.below_id, a.depth desc;

-- name: nodes_below
-- A node and all below it, so many steps down, in document order, each before what it covers.
select s.depth, p.*
from tree_builder.subtree(:'node_id'::uuid, nullif(:'depth'::text, '')::integer) with ordinality as s
cross join lateral (select p.* from tree_builder.placed_node as p where p.node_id = s.node_id limit 1) as p
order by s.ordinality;

-- name: leaf_ids
-- The chunks below some nodes; a chunk's own id is its only one.
with recursive below as (
    select n.node_id as top_id, n.node_id, n.node_type
    from tree_builder.published_node as n
    where n.node_id = any(:'node_ids'::uuid [])
    union all
    select b.top_id, n.node_id, n.node_type
    from below as b
    cross join lateral (
        select p.node_id, p.node_type from tree_builder.published_node as p where p.parent_id = b.node_id offset 0
    ) as n
)
select b.top_id, b.node_id from below as b where b.node_type = 'chunk';

-- name: node_keys
-- Which row versions answer a filter, in document order, a summary before what it covers. Filters which are null let all through.
select n.node_id, n.since_run
from tree_builder.published_node as n
where
    n.corpus = :'corpus'::text
    and (nullif(:'types'::text, '')::text [] is null or n.node_type = any(nullif(:'types'::text, '')::text []))
    and (nullif(:'min_level'::text, '')::integer is null or n.level >= nullif(:'min_level'::text, '')::integer)
    and (nullif(:'max_level'::text, '')::integer is null or n.level <= nullif(:'max_level'::text, '')::integer)
    and (
        :'path'::text = '.' or n.doc_path = :'path'::text or n.dir_path = :'path'::text
        or starts_with(n.dir_path, :'path'::text || '/')
    )
order by n.dir_path, n.doc_path nulls first, n.char_start, n.level desc, n.position;

-- name: nodes_by_key
-- Row versions by their keys, whether still published or not.
select
    n.node_id, c.corpus, n.node_type, n.level, n.position, n.parent_id, n.doc_path, n.dir_path, d.title, t.content,
    n.char_start, n.char_end, n.page_start, n.page_end, n.overlap, n.since_run as run_id
from unnest(:'node_ids'::uuid [], :'run_ids'::bigint []) with ordinality as k (node_id, since_run, place)
inner join tree_builder.node as n on k.node_id = n.node_id and k.since_run = n.since_run
inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
inner join tree_builder.texts as t on n.text_id = t.text_id
left join tree_builder.documents as d on n.corpus_id = d.corpus_id and n.doc_path = d.doc_path
order by k.place;

-- name: find_top_at
-- The node which held the summary of a path in the tree of an earlier run.
select
    n.node_id, c.corpus, n.node_type, n.level, n.position, n.parent_id, n.doc_path, n.dir_path, d.title, t.content,
    n.char_start, n.char_end, n.page_start, n.page_end, n.overlap, n.since_run as run_id
from tree_builder.node as n
inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
inner join tree_builder.texts as t on n.text_id = t.text_id
left join tree_builder.documents as d on n.corpus_id = d.corpus_id and n.doc_path = d.doc_path
where
    c.corpus = :'corpus'::text and n.since_run <= :'run_id'::bigint and n.until_run > :'run_id'::bigint
    and (
        (n.doc_path = :'path'::text and n.node_type = 'doc_top')
        or (n.doc_path is null and n.dir_path = :'path'::text and n.node_type in ('dir_top', 'root'))
    )
order by n.level desc
limit 1;

-- name: children_at
-- The children of some nodes in the tree of an earlier run.
select
    n.node_id, c.corpus, n.node_type, n.level, n.position, n.parent_id, n.doc_path, n.dir_path, d.title, t.content,
    n.char_start, n.char_end, n.page_start, n.page_end, n.overlap, n.since_run as run_id
from tree_builder.node as n
inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
inner join tree_builder.texts as t on n.text_id = t.text_id
left join tree_builder.documents as d on n.corpus_id = d.corpus_id and n.doc_path = d.doc_path
where
    n.parent_id = any(:'node_ids'::uuid [])
    and n.since_run <= :'run_id'::bigint and n.until_run > :'run_id'::bigint
order by n.parent_id, n.position;

-- name: published_runs
-- The published runs of a corpus whose trees are kept, the latest first.
select r.run_id, r.ended_at
from tree_builder.runs as r
inner join tree_builder.corpora as c on r.corpus_id = c.corpus_id
where c.corpus = :'corpus'::text and r.state = 'published' and r.run_id <= c.published_run
order by r.run_id desc;

-- name: words_found
-- Which of some words answer a query, each word read in its language.
select distinct w.language, w.word
from unnest(:'languages'::text [], :'found'::text []) as w (language, word)
where
    pg_catalog.tsvector_to_array(pg_catalog.to_tsvector(tree_builder.text_config(w.language), w.word))
    && pg_catalog.tsvector_to_array(pg_catalog.to_tsvector(tree_builder.text_config(w.language), :'query'::text));

-- name: text_below
-- Characters of document text below some nodes.
with recursive below as (
    select n.node_id as top_id, n.node_id, n.doc_path, n.char_start, n.char_end
    from tree_builder.published_node as n
    where n.node_id = any(:'node_ids'::uuid [])
    union all
    select b.top_id, n.node_id, n.doc_path, n.char_start, n.char_end
    from below as b
    cross join lateral (
        select p.node_id, p.doc_path, p.char_start, p.char_end
        from tree_builder.published_node as p where p.parent_id = b.node_id offset 0
    ) as n
    -- A document's node knows its range, so the walk ends there.
    where b.doc_path is null
)
select b.top_id as node_id, sum(b.char_end - b.char_start)::bigint as n_chars
from below as b
where b.doc_path is not null
group by b.top_id;

-- name: search_hits
-- The best hits for words, for a vector, or for both, best first; see the function tree_builder.search.
select
    p.*, s.score, s.similarity as vector_score, s.vector_place as vector_rank,
    s.text_score, s.text_place as text_rank, s.language
from tree_builder.search(
    words => nullif(:'words'::text, ''), query => nullif(:'vector'::text, '')::vector, k => :'k'::integer, corpus => :'corpus'::text,
    directory => :'path'::text, node_types => nullif(:'types'::text, '')::text [],
    min_level => nullif(:'min_level'::text, '')::integer, max_level => nullif(:'max_level'::text, '')::integer,
    first_page => nullif(:'first_page'::text, '')::integer, last_page => nullif(:'last_page'::text, '')::integer,
    since => nullif(:'since'::text, '')::timestamptz, min_score => nullif(:'min_score'::text, '')::double precision, skip => :'skip'::integer
) as s
inner join tree_builder.placed_node as p on s.node_id = p.node_id
order by s.place;

-- name: similar_hits
-- The nodes nearest to a node; see the function tree_builder.similar.
select
    p.*, s.score, s.similarity as vector_score, s.vector_place as vector_rank,
    s.text_score, s.text_place as text_rank, s.language
from tree_builder.similar(
    :'node_id'::uuid, :'k'::integer, :'corpus'::text, :'path'::text, null, nullif(:'types'::text, '')::text [], null
) as s
inner join tree_builder.placed_node as p on s.node_id = p.node_id
order by s.place;

-- name: changes
-- What differs between the trees of two runs; see the function tree_builder.changes.
select c.change as kind, c.node_type as what, c.path, c.old_path, c.old_summary as before, c.new_summary as after
from tree_builder.changes(:'run_a'::bigint, :'run_b'::bigint, :'corpus'::text) as c;
