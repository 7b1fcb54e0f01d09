-- The store: corpora, runs, documents, texts, vectors, the versioned tree, the memo.
--
-- A node's row is valid for the runs in [since_run, until_run). Readers see the rows valid at corpora.published_run, so
-- that publishing is the update of that one number, a dead run's rows are invisible, and an earlier run can still be read.

create table tree_builder.embedding_models (
    model_id integer generated always as identity primary key,
    model text not null,
    dimensions integer not null check (dimensions between 1 and 16000),
    unique (model, dimensions)
);
comment on table tree_builder.embedding_models is 'Embedding models in use; vectors of different models are never compared.';

create table tree_builder.corpora (
    corpus_id integer generated always as identity primary key,
    corpus text not null unique check (corpus <> ''),
    folder text,
    model_id integer references tree_builder.embedding_models (model_id),
    published_run bigint,
    settings jsonb not null default '{}',
    created_at timestamptz not null default now()
);
comment on table tree_builder.corpora is 'One folder tree under one name. published_run is the run whose tree readers see.';

create table tree_builder.runs (
    run_id bigint generated always as identity primary key,
    corpus_id integer not null references tree_builder.corpora (corpus_id) on delete cascade,
    state text not null default 'running' check (state in ('running', 'published', 'failed', 'cancelled', 'retired')),
    started_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    holder text not null default '',
    settings jsonb not null default '{}',
    report jsonb not null default '{}',
    error text
);
create index runs_corpus_idx on tree_builder.runs (corpus_id, run_id);
comment on table tree_builder.runs is 'One build of one corpus: who ran it, how it ended, what it did and cost.';

create table tree_builder.documents (
    corpus_id integer not null references tree_builder.corpora (corpus_id) on delete cascade,
    doc_path text collate "C" not null,
    dir_path text collate "C" not null,
    status text not null,
    reason text not null default '',
    stale boolean not null default false,
    size_bytes bigint not null,
    mtime_ns bigint not null,
    content_hash bytea,
    recipe bytea,
    grown_hash bytea,
    title text,
    language text,
    n_pages integer not null default 0,
    n_chars integer not null default 0,
    n_chunks integer not null default 0,
    outline jsonb not null default '[]',
    warnings text [] not null default '{}',
    run_id bigint not null,
    primary key (corpus_id, doc_path)
);
create index documents_language_idx on tree_builder.documents (language) where language is not null;
comment on table tree_builder.documents is
'Each source file as the last run left it. content_hash: of the bytes seen last; grown_hash and recipe: of the bytes and '
'settings which the published tree was grown from; stale: the published tree is older than the file, reason says why.';

create table tree_builder.texts (
    text_id uuid primary key,
    content text not null,
    language text,
    words tsvector not null
);
-- Words stay whole in the row: unpacking them took longer than ranking them. More of the common ones are known by their share.
alter table tree_builder.texts set (toast_tuple_target = 4080);
alter table tree_builder.texts alter column words set statistics 300;
create index texts_words_idx on tree_builder.texts using gin (words);
comment on table tree_builder.texts is 'Each distinct text of any node once. text_id: first 16 bytes of its sha256.';

create table tree_builder.vectors (
    model_id integer not null references tree_builder.embedding_models (model_id),
    text_id uuid not null,
    indexed boolean not null default false,
    embedding vector not null,
    primary key (model_id, text_id)
);
alter table tree_builder.vectors alter column embedding set storage external;
comment on table tree_builder.vectors is
'One vector a text and model. Those of published trees are indexed, by one partial index a model, vectors_<model_id>_idx.';

create table tree_builder.node (
    node_id uuid not null,
    since_run bigint not null,
    until_run bigint not null default 9223372036854775807,
    corpus_id integer not null references tree_builder.corpora (corpus_id) on delete cascade,
    node_type text not null check (node_type in ('chunk', 'summary', 'doc_top', 'dir_top', 'root')),
    level integer not null,
    position integer not null,
    parent_id uuid,
    doc_path text collate "C",
    dir_path text collate "C" not null,
    text_id uuid not null,
    body bytea not null,
    char_start integer,
    char_end integer,
    page_start integer,
    page_end integer,
    overlap integer not null default 0,
    flags text [] not null default '{}',
    decisions jsonb not null default '[]',
    primary key (node_id, since_run),
    check (since_run < until_run)
);
create index node_doc_idx on tree_builder.node (doc_path, node_type) where doc_path is not null;
create index node_dir_idx on tree_builder.node (dir_path, node_type) where doc_path is null;
create index node_parent_idx on tree_builder.node (parent_id, position);
create index node_level_idx on tree_builder.node (level, node_type) where level > 0;
create index node_text_idx on tree_builder.node (text_id);
create index node_since_idx on tree_builder.node (corpus_id, since_run);
create index node_until_idx on tree_builder.node (corpus_id, until_run) where until_run < 9223372036854775807;
comment on table tree_builder.node is
'Every version of every node: valid for the runs from since_run up to, not including, until_run. Read the view nodes.';

create table tree_builder.memo (
    request_key bytea primary key,
    kind text not null check (kind in ('summarize', 'boundary', 'embed')),
    model text not null,
    answer text not null check (answer <> ''),
    meta jsonb not null default '{}',
    input_tokens integer not null default 0,
    output_tokens integer not null default 0,
    cost_usd double precision not null default 0,
    run_id bigint,
    created_at timestamptz not null default now()
);
comment on table tree_builder.memo is
'A model''s kept answer to one exact request: cache, log to resume from, and ledger.';

create table tree_builder.memo_uses (
    corpus_id integer not null references tree_builder.corpora (corpus_id) on delete cascade,
    place text collate "C" not null,
    run_id bigint not null,
    request_keys bytea [] not null,
    primary key (corpus_id, place, run_id)
);
comment on table tree_builder.memo_uses is
'Which kept answers the tree of a document or directory was grown with, by the run which grew it; pruning spares them.';

create table tree_builder.path_grants (
    reader text not null check (reader <> ''),
    corpus_id integer not null references tree_builder.corpora (corpus_id) on delete cascade,
    prefix text collate "C" not null default '.' check (prefix <> '' and prefix not like '%/'),
    primary key (reader, corpus_id, prefix)
);
comment on table tree_builder.path_grants is
'Who may read what once row security is enabled: a role, a corpus, and the path at or below which it may read; . for all.';
