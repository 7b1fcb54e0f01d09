-- What the nightly job reads and writes. People need it to understand a run; reading queries are in the other files.

-- name: upsert_corpus
-- Make sure that a corpus of this name exists and remember its folder.
insert into tree_builder.corpora as c (corpus, folder) values (:corpus, :folder)
on conflict (corpus) do update set folder = excluded.folder
returning
    c.corpus_id, c.corpus, c.folder, c.published_run, c.settings,
    (select m.model from tree_builder.embedding_models as m where m.model_id = c.model_id) as model,
    (select m.dimensions from tree_builder.embedding_models as m where m.model_id = c.model_id) as dimensions,
    c.model_id;

-- name: find_corpus
-- The corpus of this name, or none.
select
    c.corpus_id, c.corpus, c.folder, c.published_run, c.settings, m.model, m.dimensions, c.model_id
from tree_builder.corpora as c
left join tree_builder.embedding_models as m on c.model_id = m.model_id
where c.corpus = :corpus;

-- name: all_corpora
-- Every corpus.
select
    c.corpus_id, c.corpus, c.folder, c.published_run, c.settings, m.model, m.dimensions, c.model_id
from tree_builder.corpora as c
left join tree_builder.embedding_models as m on c.model_id = m.model_id
order by c.corpus;

-- name: upsert_embedding_model
-- The id of an embedding model with so many dimensions.
insert into tree_builder.embedding_models as m (model, dimensions) values (:model, :dimensions)
on conflict (model, dimensions) do update set model = excluded.model
returning m.model_id;

-- name: try_lock
-- Take a lock which dies with its connection; false when another connection has it.
select pg_try_advisory_lock(:space ::integer, :number ::integer) as locked;

-- name: lock_shared
-- Say that a run is under way, so that nobody prunes; many may hold it. Polled, so that it cannot deadlock.
select pg_try_advisory_lock_shared(:space ::integer, :number ::integer) as locked;

-- name: unlock_shared
-- No longer under way.
select pg_advisory_unlock_shared(:space ::integer, :number ::integer) as unlocked;

-- name: unlock
-- Give a lock back.
select pg_advisory_unlock(:space ::integer, :number ::integer) as unlocked;

-- name: insert_run
-- Begin a run; asked again with the same holder it gives the same run, since a lost answer must not begin two.
with known as (
    select r.run_id from tree_builder.runs as r
    where r.corpus_id = :corpus_id and r.holder = :holder
), made as (
    insert into tree_builder.runs (corpus_id, holder, settings)
    select :corpus_id, :holder, :settings ::jsonb
    where not exists (select 1 from known)
    returning run_id
)
select run_id from known
union all
select run_id from made;

-- name: find_running
-- The run which has a corpus now, if its holder still lives.
select r.run_id, r.holder, r.started_at
from tree_builder.runs as r
inner join tree_builder.corpora as c on r.corpus_id = c.corpus_id
where c.corpus = :corpus and r.state = 'running'
order by r.run_id desc
limit 1;

-- name: end_dead_runs
-- Runs which never ended: their holder died.
update tree_builder.runs set state = 'failed', ended_at = clock_timestamp(), error = 'the program died'
where corpus_id = :corpus_id and state = 'running' and run_id <> :run_id;

-- name: delete_unpublished_nodes
-- What dead runs staged; readers never saw it.
delete from tree_builder.node as n
using tree_builder.corpora as c
where n.corpus_id = :corpus_id and c.corpus_id = n.corpus_id and n.since_run > coalesce(c.published_run, 0);

-- name: revive_nodes
-- What dead runs had ended is valid again.
update tree_builder.node as n set until_run = 9223372036854775807
from tree_builder.corpora as c
where
    n.corpus_id = :corpus_id and c.corpus_id = n.corpus_id
    and n.until_run > coalesce(c.published_run, 0) and n.until_run < 9223372036854775807;

-- name: delete_unpublished_uses
-- The uses which dead runs noted.
delete from tree_builder.memo_uses as u
using tree_builder.corpora as c
where u.corpus_id = :corpus_id and c.corpus_id = u.corpus_id and u.run_id > coalesce(c.published_run, 0);

-- name: known_documents
-- Every file of a corpus as the last run left it.
select
    doc_path, status, reason, stale, size_bytes, mtime_ns, content_hash, grown_hash, recipe, title, language,
    n_pages, n_chars, n_chunks
from tree_builder.documents
where corpus_id = :corpus_id;

-- name: document_extras
-- Outline and warnings of one document.
select outline, warnings from tree_builder.documents where corpus_id = :corpus_id and doc_path = :doc_path;

-- name: document_tops
-- The published tops of the documents which lie in a directory.
select n.node_id, n.node_type, n.level, n.doc_path, n.dir_path, n.body, t.content
from tree_builder.node as n
inner join tree_builder.texts as t on n.text_id = t.text_id
where
    n.corpus_id = :corpus_id and n.dir_path = :dir_path and n.node_type = 'doc_top'
    and n.since_run < :run_id and n.until_run >= :run_id
order by n.doc_path;

-- name: directory_top
-- The published top of one directory.
select n.node_id, n.node_type, n.level, n.doc_path, n.dir_path, n.body, t.content
from tree_builder.node as n
inner join tree_builder.texts as t on n.text_id = t.text_id
where
    n.corpus_id = :corpus_id and n.doc_path is null and n.dir_path = :dir_path and n.node_type = 'dir_top'
    and n.since_run < :run_id and n.until_run >= :run_id;

-- name: document_rows
-- The published nodes of one document.
select
    n.node_id, n.node_type, n.level, n.position, n.parent_id, n.doc_path, n.dir_path, t.content, n.text_id, n.body,
    n.char_start, n.char_end, n.page_start, n.page_end, n.overlap, n.flags, n.decisions
from tree_builder.node as n
inner join tree_builder.texts as t on n.text_id = t.text_id
where
    n.corpus_id = :corpus_id and n.doc_path = :doc_path
    and n.since_run < :run_id and n.until_run >= :run_id
order by n.char_start, n.level;

-- name: make_staging
-- A place for one document's new nodes, of this connection alone.
create temporary table if not exists staged_node
(like tree_builder.node including defaults) on commit delete rows;

-- name: make_text_staging
-- A place for texts on their way, of this connection alone.
create temporary table if not exists staged_text
(text_id uuid not null, content text not null, language text) on commit delete rows;

-- name: make_vector_staging
-- A place for vectors on their way, of this connection alone.
create temporary table if not exists staged_vector
(text_id uuid not null, embedding vector not null) on commit delete rows;

-- name: undo_document
-- Forget what this run staged for a document, so that staging it again is harmless.
delete from tree_builder.node
where corpus_id = :corpus_id and doc_path = :doc_path and since_run = :run_id;

-- name: undo_document_end
-- What this run had ended of a document is valid again.
update tree_builder.node set until_run = 9223372036854775807
where corpus_id = :corpus_id and doc_path = :doc_path and until_run = :run_id;

-- name: undo_directory
-- Forget what this run staged for a directory's own nodes.
delete from tree_builder.node
where corpus_id = :corpus_id and doc_path is null and dir_path = :dir_path and since_run = :run_id;

-- name: undo_directory_end
-- What this run had ended of a directory's own nodes is valid again.
update tree_builder.node set until_run = 9223372036854775807
where corpus_id = :corpus_id and doc_path is null and dir_path = :dir_path and until_run = :run_id;

-- name: end_document
-- End the document's nodes which the new tree has not, or has otherwise. A top's place above is linked later.
update tree_builder.node as n set until_run = :run_id
where
    n.corpus_id = :corpus_id and n.doc_path = :doc_path and n.until_run > :run_id and n.since_run < :run_id
    and not exists (
        select 1 from staged_node as s
        where
            s.node_id = n.node_id
            and (s.node_type, s.level, s.text_id, s.char_start, s.char_end, s.page_start, s.page_end, s.overlap, s.flags, s.decisions)
            is not distinct from
            (n.node_type, n.level, n.text_id, n.char_start, n.char_end, n.page_start, n.page_end, n.overlap, n.flags, n.decisions)
            and (n.node_type = 'doc_top' or (s.parent_id, s.position) is not distinct from (n.parent_id, n.position))
    );

-- name: end_directory
-- End the directory's own nodes which the new tree has not, or has otherwise.
update tree_builder.node as n set until_run = :run_id
where
    n.corpus_id = :corpus_id and n.doc_path is null and n.dir_path = :dir_path
    and n.until_run > :run_id and n.since_run < :run_id
    and not exists (
        select 1 from staged_node as s
        where
            s.node_id = n.node_id
            and (s.node_type, s.level, s.text_id, s.flags, s.decisions)
            is not distinct from (n.node_type, n.level, n.text_id, n.flags, n.decisions)
            and (n.node_type = 'dir_top' or (s.parent_id, s.position) is not distinct from (n.parent_id, n.position))
    );

-- name: insert_staged
-- Add the staged nodes which are not valid already.
insert into tree_builder.node
select s.* from staged_node as s
where not exists (
    select 1 from tree_builder.node as n
    where n.node_id = s.node_id and n.since_run <= s.since_run and n.until_run > s.since_run
);

-- name: insert_texts
-- Keep texts which are new, with their words for full text search. The configuration is asked for once a language:
-- asked for each text it took a seventh of the time.
with configs as materialized (
    select l.language, tree_builder.text_config(l.language) as config
    from (select distinct t.language from staged_text as t) as l
)

insert into tree_builder.texts (text_id, content, language, words)
select s.text_id, s.content, s.language, to_tsvector(c.config, s.content)
from staged_text as s
inner join configs as c on s.language is not distinct from c.language
order by s.text_id
on conflict (text_id) do nothing;

-- name: insert_vectors
-- Keep vectors which are new.
insert into tree_builder.vectors (model_id, text_id, embedding)
select :model_id, s.text_id, s.embedding
from staged_vector as s
order by s.text_id
on conflict (model_id, text_id) do nothing;

-- name: find_vectors
-- The kept vectors of some texts.
select text_id, embedding from tree_builder.vectors
where model_id = :model_id and text_id = any(:text_ids);

-- name: link_staged
-- Give the nodes which this run staged their place below a directory's nodes.
update tree_builder.node as n set parent_id = l.parent_id, position = l.position
from unnest(:node_ids ::uuid [], :parent_ids ::uuid [], :positions ::integer []) as l (node_id, parent_id, position)
where
    n.node_id = l.node_id and n.since_run = :run_id and n.corpus_id = :corpus_id
    and (n.parent_id, n.position) is distinct from (l.parent_id, l.position);

-- name: relink_published
-- Published nodes whose place above changed live on as a new version.
with moved as (
    update tree_builder.node as n set until_run = :run_id
    from unnest(:node_ids ::uuid [], :parent_ids ::uuid [], :positions ::integer []) as l (node_id, parent_id, position)
    where
        n.node_id = l.node_id and n.corpus_id = :corpus_id and n.since_run < :run_id and n.until_run > :run_id
        and (n.parent_id, n.position) is distinct from (l.parent_id, l.position)
    returning n.*, l.parent_id as new_parent_id, l.position as new_position
)
insert into tree_builder.node (
    node_id, since_run, corpus_id, node_type, level, position, parent_id, doc_path, dir_path, text_id, body,
    char_start, char_end, page_start, page_end, overlap, flags, decisions
)
select
    node_id, :run_id, corpus_id, node_type, level, new_position, new_parent_id, doc_path, dir_path, text_id, body,
    char_start, char_end, page_start, page_end, overlap, flags, decisions
from moved;

-- name: end_documents
-- End every node of documents which are gone.
update tree_builder.node as n set until_run = :run_id
where n.corpus_id = :corpus_id and n.doc_path = any(:doc_paths) and n.until_run > :run_id and n.since_run < :run_id;

-- name: end_directories
-- End the own nodes of directories which are gone.
update tree_builder.node as n set until_run = :run_id
where
    n.corpus_id = :corpus_id and n.doc_path is null and n.dir_path = any(:dir_paths)
    and n.until_run > :run_id and n.since_run < :run_id;

-- name: upsert_documents
-- Note how files ended.
insert into tree_builder.documents (
    corpus_id, doc_path, dir_path, status, reason, stale, size_bytes, mtime_ns, content_hash, grown_hash, recipe,
    title, language, n_pages, n_chars, n_chunks, outline, warnings, run_id
)
select
    :corpus_id, d.doc_path, d.dir_path, d.status, d.reason, d.stale, d.size_bytes, d.mtime_ns, d.content_hash,
    d.grown_hash, d.recipe, d.title, d.language, d.n_pages, d.n_chars, d.n_chunks, d.outline,
    array(select jsonb_array_elements_text(d.warnings)), :run_id
from jsonb_to_recordset(:documents ::jsonb) as d (
    doc_path text, dir_path text, status text, reason text, stale boolean, size_bytes bigint, mtime_ns bigint,
    content_hash bytea, grown_hash bytea, recipe bytea, title text, language text, n_pages integer, n_chars integer,
    n_chunks integer, outline jsonb, warnings jsonb
)
on conflict (corpus_id, doc_path) do update set
    status = excluded.status, reason = excluded.reason, stale = excluded.stale, size_bytes = excluded.size_bytes,
    mtime_ns = excluded.mtime_ns, content_hash = excluded.content_hash, grown_hash = excluded.grown_hash,
    recipe = excluded.recipe, title = excluded.title, language = excluded.language, n_pages = excluded.n_pages,
    n_chars = excluded.n_chars, n_chunks = excluded.n_chunks, outline = excluded.outline,
    warnings = excluded.warnings, run_id = excluded.run_id;

-- name: delete_documents
-- Forget files which are gone.
delete from tree_builder.documents where corpus_id = :corpus_id and doc_path = any(:doc_paths);

-- name: publish
-- The one swap: from now on readers see this run's tree.
update tree_builder.corpora set published_run = :run_id, model_id = :model_id, settings = :settings ::jsonb
where corpus_id = :corpus_id;

-- name: end_run
-- How a run ended, and its report.
update tree_builder.runs
set state = :state, ended_at = clock_timestamp(), report = :report ::jsonb, error = :error
where run_id = :run_id;

-- name: node_counts
-- Nodes of each type in a run's tree.
select n.node_type, count(*) as nodes
from tree_builder.node as n
where n.corpus_id = :corpus_id and n.since_run <= :run_id and n.until_run > :run_id
group by n.node_type;

-- name: node_writes
-- How many node rows a run wrote, and how many it ended.
select
    (select count(*) from tree_builder.node as n where n.corpus_id = :corpus_id and n.since_run = :run_id) as written,
    (select count(*) from tree_builder.node as n where n.corpus_id = :corpus_id and n.until_run = :run_id) as ended;

-- name: texts_without_vector
-- Texts of a run's tree which have no vector of this model yet, some at a time.
select distinct on (n.text_id) n.text_id, t.content
from tree_builder.node as n
inner join tree_builder.texts as t on n.text_id = t.text_id
where
    n.corpus_id = :corpus_id and n.since_run <= :run_id and n.until_run > :run_id and n.text_id > :after ::uuid
    and not exists (
        select 1 from tree_builder.vectors as v where v.model_id = :model_id and v.text_id = n.text_id
    )
order by n.text_id
limit :batch;

-- name: find_answer
-- Kept answers, by the keys of whole requests.
select request_key, answer, meta, input_tokens, output_tokens, cost_usd
from tree_builder.memo where request_key = any(:keys);

-- name: insert_answers
-- Keep answers; the first which was kept under a key stays.
insert into tree_builder.memo (request_key, kind, model, answer, meta, input_tokens, output_tokens, cost_usd, run_id)
select a.key, a.kind, a.model, a.answer, a.meta, a.input_tokens, a.output_tokens, a.cost_usd, :run_id
from unnest(
    :keys ::bytea [], :kinds ::text [], :models ::text [], :answers ::text [], :metas ::jsonb [],
    :input_tokens ::integer [], :output_tokens ::integer [], :costs ::double precision []
) as a (key, kind, model, answer, meta, input_tokens, output_tokens, cost_usd)
order by a.key
on conflict (request_key) do nothing;

-- name: upsert_uses
-- Note which kept answers a place's tree was grown with.
insert into tree_builder.memo_uses (corpus_id, place, run_id, request_keys)
values (:corpus_id, :place, :run_id, :keys ::bytea [])
on conflict (corpus_id, place, run_id) do update set request_keys = excluded.request_keys;

-- name: copy_uses
-- A tree which was copied to another place was grown with the same answers.
insert into tree_builder.memo_uses (corpus_id, place, run_id, request_keys)
select u.corpus_id, :place, :run_id, u.request_keys
from tree_builder.memo_uses as u
where u.corpus_id = :corpus_id and u.place = :source
order by u.run_id desc
limit 1
on conflict (corpus_id, place, run_id) do update set request_keys = excluded.request_keys;

-- name: flush_word_index
-- Bring the words of new texts into their index.
select pg_catalog.gin_clean_pending_list('tree_builder.texts_words_idx') as n_pages;

-- name: index_new_vectors
-- Bring the vectors of a run's tree into the model's index, some at a time; gives how many. To statistics of before the run its
-- corpus looks like one row: + 0 and the row addresses keep the planner from going through all of that corpus for each vector.
update tree_builder.vectors as v set indexed = true
where v.ctid = any(array(
    select w.ctid
    from tree_builder.vectors as w
    where
        w.model_id = :model_id and not w.indexed
        and exists (
            select 1 from tree_builder.node as n
            where
                n.text_id = w.text_id and n.corpus_id + 0 = :corpus_id
                and n.since_run + 0 <= :run_id and n.until_run > :run_id
        )
    limit :batch
));

-- name: count_vectors_to_index
-- How many vectors of a run's tree wait for the index, and how many it holds. + 0: see above.
select
    (
        select count(*) from tree_builder.vectors as v
        where
            v.model_id = :model_id and not v.indexed
            and exists (
                select 1 from tree_builder.node as n
                where
                    n.text_id = v.text_id and n.corpus_id + 0 = :corpus_id
                    and n.since_run + 0 <= :run_id and n.until_run > :run_id
            )
    ) as waiting,
    (select count(*) from tree_builder.vectors as v where v.model_id = :model_id and v.indexed) as held;

-- name: unindex_vectors
-- Vectors of no published tree leave the index.
update tree_builder.vectors as v set indexed = false
where
    v.model_id = :model_id and v.indexed
    and v.text_id in (
        select n.text_id from tree_builder.node as n
        where n.corpus_id = :corpus_id and n.until_run <= :run_id
    )
    and not exists (
        select 1 from tree_builder.node as n
        inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
        where
            n.text_id = v.text_id and c.model_id = v.model_id
            and n.since_run <= c.published_run and n.until_run > c.published_run
    );

-- name: vector_index_state
-- Whether the model's index is there, and whole.
select i.indisvalid as valid
from pg_catalog.pg_class as c
inner join pg_catalog.pg_index as i on c.oid = i.indexrelid
inner join pg_catalog.pg_namespace as s on c.relnamespace = s.oid
where s.nspname = 'tree_builder' and c.relname = 'vectors_' || (:model_id ::integer) ::text || '_idx';

-- name: vector_index_statement
-- The statement which makes a model's index.
select tree_builder.vector_index_statement(:model_id ::integer) as statement;

-- name: kept_runs
-- The published runs which are kept, the newest first.
select r.run_id from tree_builder.runs as r
where r.corpus_id = :corpus_id and r.state = 'published'
order by r.run_id desc
limit :keep;

-- name: delete_old_nodes
-- Node versions which no kept run shows.
delete from tree_builder.node where corpus_id = :corpus_id and until_run <= :oldest_run;

-- name: retire_old_runs
-- Runs older than those kept stay, without their reports, as long as a node says that it came with them.
update tree_builder.runs set state = 'retired', report = '{}', settings = '{}'
where corpus_id = :corpus_id and run_id < :oldest_run and state = 'published';

-- name: delete_old_runs
-- Runs which are older than those kept, and with which no node came.
delete from tree_builder.runs as r
where
    r.corpus_id = :corpus_id and r.run_id < :oldest_run
    and not exists (
        select 1 from tree_builder.node as n where n.corpus_id = r.corpus_id and n.since_run = r.run_id
    );

-- name: delete_old_uses
-- Notes of uses which a later one of the same place replaced before the oldest kept run, or whose place is long gone.
delete from tree_builder.memo_uses as u
where
    u.corpus_id = :corpus_id
    and (
        exists (
            select 1 from tree_builder.memo_uses as later
            where
                later.corpus_id = u.corpus_id and later.place = u.place
                and later.run_id > u.run_id and later.run_id <= :oldest_run
        )
        or not exists (
            select 1 from tree_builder.node as n
            where
                n.corpus_id = u.corpus_id
                and (u.place = 'doc:' || n.doc_path or (n.doc_path is null and u.place = 'dir:' || n.dir_path))
        )
    );

-- name: delete_unused_texts
-- Texts which no node version has.
delete from tree_builder.texts as t
where not exists (select 1 from tree_builder.node as n where n.text_id = t.text_id);

-- name: delete_unused_vectors
-- Vectors of texts which no node version has.
delete from tree_builder.vectors as v
where not exists (select 1 from tree_builder.node as n where n.text_id = v.text_id);

-- name: delete_unused_answers
-- Kept answers which no kept tree was grown with, and which no later run may still need: those paid for within the kept
-- runs stay, since a document may have been put off, or its run may have died.
delete from tree_builder.memo as m
where
    not exists (
        select 1 from (
            select distinct unnest(u.request_keys) as request_key from tree_builder.memo_uses as u
        ) as used
        where used.request_key = m.request_key
    )
    and not exists (
        select 1 from tree_builder.runs as r
        where
            r.run_id = m.run_id
            and r.run_id >= (
                select coalesce(min(k.run_id), 0) from tree_builder.runs as k
                where k.corpus_id = r.corpus_id and k.state = 'published'
            )
    );

-- name: memo_size
-- How many answers are kept, what they cost, and how much room they take.
select
    m.kind, m.model, count(*) as answers, sum(m.input_tokens) as input_tokens, sum(m.output_tokens) as output_tokens,
    sum(m.cost_usd) as cost_usd, sum(pg_column_size(m.*)) ::bigint as size_bytes
from tree_builder.memo as m
group by m.kind, m.model
order by m.kind, m.model;

-- name: flagged_directories
-- Directories with a published node of their own whose flags are like a pattern.
select distinct n.dir_path
from tree_builder.node as n
where
    n.corpus_id = :corpus_id and n.doc_path is null and n.since_run < :run_id and n.until_run >= :run_id
    and exists (select 1 from unnest(n.flags) as f (flag) where f.flag like :pattern);

-- name: last_runs
-- The last runs of a corpus, the newest first.
select r.run_id, r.state, r.started_at, r.ended_at, r.holder, r.report, r.error
from tree_builder.runs as r
where r.corpus_id = :corpus_id
order by r.run_id desc
limit :limit;
