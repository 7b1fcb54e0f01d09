-- Searching. In psql: psql -v words='storage heaters' -f queries/search.sql; what is not given is no filter.
-- vector: the query's vector as [0.1,0.2,...], of the model of the corpus. node_types: {chunk,doc_top}.
\if :{?words}
\else
\set words ''
\endif
\if :{?vector}
\else
\set vector ''
\endif
\if :{?k}
\else
\set k 10
\endif
\if :{?skip}
\else
\set skip 0
\endif
\if :{?corpus}
\else
\set corpus ''
\endif
\if :{?directory}
\else
\set directory ''
\endif
\if :{?document}
\else
\set document ''
\endif
\if :{?node_types}
\else
\set node_types ''
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
\if :{?before}
\else
\set before ''
\endif
\if :{?min_score}
\else
\set min_score ''
\endif
\if :{?fusion}
\else
\set fusion scores
\endif
\if :{?model}
\else
\set model ''
\endif
\if :{?node}
\else
select tree_builder.top('.', nullif(:'corpus', '')) as node \gset
\endif

-- name: search
-- The best hits for words, for a vector, or for both, over all levels of the tree.
select
    h.place, h.score, h.similarity, h.vector_place, h.text_score, h.text_place, h.node_id, h.corpus, h.node_type, h.level,
    h.doc_path, h.dir_path, h.title, h.page_start, h.page_end, h.char_start, h.char_end, h.language,
    tree_builder.headline(h.content, :'words'::text, h.language) as content
from tree_builder.search(
    words => nullif(:'words'::text, ''),
    query => nullif(:'vector'::text, '')::vector,
    k => nullif(:'k'::text, '')::integer,
    corpus => nullif(:'corpus'::text, ''),
    directory => nullif(:'directory'::text, ''),
    document => nullif(:'document'::text, ''),
    node_types => nullif(:'node_types'::text, '')::text [],
    min_level => nullif(:'min_level'::text, '')::integer,
    max_level => nullif(:'max_level'::text, '')::integer,
    first_page => nullif(:'first_page'::text, '')::integer,
    last_page => nullif(:'last_page'::text, '')::integer,
    since => nullif(:'since'::text, '')::timestamptz,
    before => nullif(:'before'::text, '')::timestamptz,
    min_score => nullif(:'min_score'::text, '')::double precision,
    skip => nullif(:'skip'::text, '')::integer,
    fusion => nullif(:'fusion'::text, ''),
    model => nullif(:'model'::text, '')
) as h;

-- name: search_text
-- The nodes whose words fit best. "Phrases in quotes" must be there, -excluded words must not.
select
    h.place, h.score, h.node_id, h.corpus, h.node_type, h.level, h.doc_path, h.dir_path, h.title, h.page_start, h.page_end,
    h.content
from tree_builder.search_text(
    :'words'::text, nullif(:'k'::text, '')::integer, nullif(:'corpus'::text, ''), nullif(:'directory'::text, ''),
    nullif(:'document'::text, ''), nullif(:'node_types'::text, '')::text []
) as h;

-- name: search_vector
-- The nodes nearest to a vector.
select
    h.place, h.score, h.node_id, h.corpus, h.node_type, h.level, h.doc_path, h.dir_path, h.title, h.page_start, h.page_end,
    h.content
from tree_builder.search_vector(
    nullif(:'vector'::text, '')::vector, nullif(:'k'::text, '')::integer, nullif(:'corpus'::text, ''),
    nullif(:'directory'::text, ''), nullif(:'document'::text, ''), nullif(:'node_types'::text, '')::text []
) as h;

-- name: fetch_similar
-- The nodes nearest to a node.
select
    h.place, h.score, h.node_id, h.corpus, h.node_type, h.level, h.doc_path, h.dir_path, h.title, h.page_start, h.page_end,
    h.content
from tree_builder.similar(
    :'node'::uuid, nullif(:'k'::text, '')::integer, nullif(:'corpus'::text, ''), nullif(:'directory'::text, ''),
    nullif(:'document'::text, ''), nullif(:'node_types'::text, '')::text []
) as h;
