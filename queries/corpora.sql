-- What there is: corpora, directories, documents, runs. In psql: psql -v corpus=reports -f queries/corpora.sql
\if :{?corpus}
\else
\set corpus ''
\endif
\if :{?path}
\else
\set path .
\endif
\if :{?status}
\else
\set status ''
\endif

-- name: fetch_corpora
-- Every published corpus: its summary, its size, its model, and whether something in it is older than its file.
select
    s.corpus, s.folder, s.summary, s.n_documents, s.n_directories, s.n_chunks, s.n_pages, s.n_chars, s.depth, s.built_at,
    s.published_run, s.model, s.dimensions, s.stale
from tree_builder.corpus_summaries as s
order by s.corpus;

-- name: fetch_directories
-- The directories at or below a path, with their summaries.
select s.corpus, s.dir_path, s.title, s.summary, s.n_documents, s.n_chunks, s.n_pages, s.n_chars, s.depth, s.built_at, s.stale
from tree_builder.directory_summaries as s
where
    (:'corpus'::text is null or :'corpus'::text in ('', s.corpus))
    and tree_builder.lies_within(s.dir_path, tree_builder.clean_path(:'path'::text))
order by s.corpus, s.dir_path;

-- name: fetch_documents
-- The documents at or below a path, with their summaries.
select
    s.corpus, s.doc_path, s.title, s.summary, s.language, s.n_chunks, s.n_pages, s.n_chars, s.depth, s.built_at, s.stale, s.status
from tree_builder.document_summaries as s
where
    (:'corpus'::text is null or :'corpus'::text in ('', s.corpus))
    and tree_builder.lies_within(s.doc_path, tree_builder.clean_path(:'path'::text))
order by s.corpus, s.doc_path;

-- name: fetch_files
-- Every file as the last run left it, or those of one status: what was built, what was not, and why.
select c.corpus, d.doc_path, d.status, d.reason, d.stale, d.size_bytes, d.n_pages, d.n_chars, d.n_chunks, d.language, d.title
from tree_builder.documents as d
inner join tree_builder.corpora as c on d.corpus_id = c.corpus_id
where
    (:'corpus'::text is null or :'corpus'::text in ('', c.corpus))
    and (:'status'::text is null or :'status'::text in ('', d.status))
    and tree_builder.lies_within(d.doc_path, tree_builder.clean_path(:'path'::text))
order by c.corpus, d.doc_path;

-- name: count_files
-- How many files ended how.
select c.corpus, d.status, count(*) as n_files, sum(d.n_pages) as n_pages, sum(d.n_chars) as n_chars
from tree_builder.documents as d
inner join tree_builder.corpora as c on d.corpus_id = c.corpus_id
where :'corpus'::text is null or :'corpus'::text in ('', c.corpus)
group by c.corpus, d.status
order by c.corpus, d.status;

-- name: fetch_runs
-- The runs which are remembered, the latest first, and whether their tree is the one which readers see.
select c.corpus, r.run_id, r.state, r.started_at, r.ended_at, r.run_id = c.published_run as is_published
from tree_builder.runs as r
inner join tree_builder.corpora as c on r.corpus_id = c.corpus_id
where :'corpus'::text is null or :'corpus'::text in ('', c.corpus)
order by r.run_id desc;
