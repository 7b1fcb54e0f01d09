-- Summaries by path: of documents, of directories, of whole corpora. Re-runnable.

create or replace view tree_builder.document_summaries
with (security_invoker = true) as
select
    n.corpus,
    n.doc_path,
    n.dir_path,
    coalesce(d.title, regexp_replace(n.doc_path, '^.*/', '')) as title,
    t.content as summary,
    1::bigint as n_documents,
    coalesce(d.n_chunks, 0)::bigint as n_chunks,
    coalesce(d.n_pages, 0)::bigint as n_pages,
    coalesce(d.n_chars, 0)::bigint as n_chars,
    n.level as depth,
    r.ended_at as built_at,
    n.since_run as run_id,
    coalesce(d.stale, false) as stale,
    coalesce(d.status, 'built') as status,
    d.language,
    n.node_id
from tree_builder.published_node as n
inner join tree_builder.texts as t on n.text_id = t.text_id
left join tree_builder.documents as d on n.corpus_id = d.corpus_id and n.doc_path = d.doc_path
left join tree_builder.runs as r on n.since_run = r.run_id
where n.node_type = 'doc_top';
comment on view tree_builder.document_summaries is
'One row a document of the published tree: its summary, what lies below it, which run made it, and whether the file is newer.';
comment on column tree_builder.document_summaries.depth is 'Levels of the tree below this summary.';
comment on column tree_builder.document_summaries.built_at is 'When the run ended which made this summary; null once that run is forgotten.';
comment on column tree_builder.document_summaries.stale is 'The published tree is older than the file; the status says why.';

create or replace view tree_builder.directory_summaries
with (security_invoker = true) as
select
    n.corpus,
    n.dir_path,
    case n.dir_path when '.' then n.corpus else regexp_replace(n.dir_path, '^.*/', '') end as title,
    t.content as summary,
    b.n_documents,
    b.n_chunks,
    b.n_pages,
    b.n_chars,
    n.level as depth,
    r.ended_at as built_at,
    n.since_run as run_id,
    b.stale,
    n.node_id
from tree_builder.published_node as n
inner join tree_builder.texts as t on n.text_id = t.text_id
left join tree_builder.runs as r on n.since_run = r.run_id
cross join lateral (
    select
        count(*) as n_documents,
        coalesce(sum(d.n_chunks), 0)::bigint as n_chunks,
        coalesce(sum(d.n_pages), 0)::bigint as n_pages,
        coalesce(sum(d.n_chars), 0)::bigint as n_chars,
        coalesce(bool_or(d.stale), false) as stale
    from tree_builder.documents as d
    where
        d.corpus_id = n.corpus_id and d.grown_hash is not null
        -- The paths below a directory, as a range which the primary key answers: '0' follows '/'.
        and d.doc_path >= case n.dir_path when '.' then '' else n.dir_path || '/' end
        and (n.dir_path = '.' or d.doc_path < n.dir_path || '0')
) as b
where n.doc_path is null and (n.node_type = 'root' or (n.node_type = 'dir_top' and n.dir_path <> '.'));
comment on view tree_builder.directory_summaries is
'One row a directory of the published tree, the corpus folder (.) among them: its summary and what lies anywhere below it.';
comment on column tree_builder.directory_summaries.depth is 'Levels of the tree below this summary.';
comment on column tree_builder.directory_summaries.built_at is 'When the run ended which made this summary; null once that run is forgotten.';
comment on column tree_builder.directory_summaries.stale is 'For some document below, the published tree is older than the file.';

create or replace view tree_builder.corpus_summaries
with (security_invoker = true) as
select
    s.corpus,
    c.folder,
    s.title,
    s.summary,
    s.n_documents,
    (
        select count(*) from tree_builder.published_node as n
        where n.corpus_id = c.corpus_id and n.doc_path is null and n.node_type in ('dir_top', 'root')
    ) as n_directories,
    s.n_chunks,
    s.n_pages,
    s.n_chars,
    s.depth,
    s.built_at,
    s.run_id,
    s.stale,
    c.published_run,
    m.model,
    m.dimensions,
    s.node_id
from tree_builder.directory_summaries as s
inner join tree_builder.corpora as c on s.corpus = c.corpus
left join tree_builder.embedding_models as m on c.model_id = m.model_id
where s.dir_path = '.';
comment on view tree_builder.corpus_summaries is
'One row a published corpus: the summary of all of it, its size, its embedding model, and the run whose tree readers see.';
comment on column tree_builder.corpus_summaries.run_id is 'The run which made this summary; published_run may be later and have left it as it was.';

create or replace function tree_builder.summary(path text default '.', corpus text default null)
returns setof tree_builder.summary_row
language sql stable parallel safe
set search_path = pg_catalog
rows 1
as $$
    with place as materialized (
        select c.corpus_id, c.corpus, tree_builder.clean_path($1) as path
        from tree_builder.corpora as c
        where c.corpus_id = tree_builder.corpus_id($2)
    )
    select s.node_id, s.corpus, 'doc_top', s.doc_path, s.title, s.summary, s.depth,
        s.n_documents, s.n_chunks, s.n_pages, s.n_chars, s.built_at, s.run_id, s.stale
    from place as p
    inner join tree_builder.document_summaries as s on p.corpus = s.corpus and p.path = s.doc_path
    union all
    select s.node_id, s.corpus, case s.dir_path when '.' then 'root' else 'dir_top' end, s.dir_path, s.title,
        s.summary, s.depth, s.n_documents, s.n_chunks, s.n_pages, s.n_chars, s.built_at, s.run_id, s.stale
    from place as p
    inner join tree_builder.directory_summaries as s on p.corpus = s.corpus and p.path = s.dir_path
$$;
comment on function tree_builder.summary(text, text) is
'The summary of a document (a/b.pdf), a directory (a or a/) or the whole corpus (.), with what lies below; no row for a '
'path which is not in the tree.';
