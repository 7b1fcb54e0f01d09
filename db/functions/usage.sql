-- Who may read: the role tree_reader, and row security by path. Re-runnable; the last file, since it names all others' work.

do $$
begin
    if not exists (select 1 from pg_catalog.pg_roles where rolname = 'tree_reader') then
        create role tree_reader nologin;
    end if;
exception
    when insufficient_privilege then
        raise notice 'the role tree_reader was not made: ask someone who may create roles for `create role tree_reader`, then migrate again';
    when duplicate_object or unique_violation then
        null; -- another database of the same server was faster
end
$$;

create or replace function tree_builder.reader_roles()
returns text []
language sql stable
set search_path = pg_catalog
as $$
    select array(select r.rolname::text from pg_roles as r where pg_has_role(r.oid, 'usage'))
$$;
comment on function tree_builder.reader_roles() is 'The roles whose grants count for the current user: its own, and those it inherits from.';

create or replace function tree_builder.lies_within(path text, prefix text)
returns boolean
language sql immutable parallel safe
return prefix operator(pg_catalog.=) '.' or path operator(pg_catalog.=) prefix
    or pg_catalog.starts_with(path, prefix operator(pg_catalog.||) '/');
comment on function tree_builder.lies_within(text, text) is 'Whether a path is the prefix or lies below it; everything lies within a single dot.';

drop function if exists tree_builder.readable_texts(text, integer);

create or replace function tree_builder.readable_texts(words text, want integer, most integer)
returns uuid []
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    -- Runs as the owner, so that the index of words can be used; below a policy it cannot, since a match might tell of hidden
    -- rows. So it asks the same question as the policies, for the role which really asks, and gives ids of nothing else.
    with asking as materialized (
        select coalesce(nullif(current_setting('role'), 'none'), session_user) as reader
    ), grants as materialized (
        select distinct g.corpus_id, g.prefix
        from tree_builder.path_grants as g
        inner join pg_roles as r on g.reader = r.rolname
        cross join asking as a
        where pg_has_role(a.reader, r.oid, 'usage')
    )
    select array(
        select t.text_id
        from tree_builder.text_plan($1, $2) as p
        inner join tree_builder.texts as t on t.words @@ p.source
        where exists (
            select 1
            from tree_builder.published_node as n
            inner join grants as g on n.corpus_id = g.corpus_id
            where n.text_id = t.text_id and tree_builder.lies_within(coalesce(n.doc_path, n.dir_path), g.prefix)
        )
        limit $3
    )
$$;
comment on function tree_builder.readable_texts(text, integer, integer) is
'Texts which a query brings up and which the asking role may read anyway, by its own grants. Used below row security only.';

create or replace function tree_builder.grant_path(reader text, path text default '.', corpus text default null)
returns void
language sql
set search_path = pg_catalog
as $$
    insert into tree_builder.path_grants (reader, corpus_id, prefix)
    values ($1, tree_builder.corpus_id($3), tree_builder.clean_path($2))
    on conflict do nothing
$$;
comment on function tree_builder.grant_path(text, text, text) is
'Let a role read what lies at or below a path, once row security is enabled. A single dot is the whole corpus, its root among it.';

create or replace function tree_builder.revoke_path(reader text, path text default '.', corpus text default null)
returns void
language sql
set search_path = pg_catalog
as $$
    delete from tree_builder.path_grants as g
    where g.reader = $1 and g.corpus_id = tree_builder.corpus_id($3) and g.prefix = tree_builder.clean_path($2)
$$;
comment on function tree_builder.revoke_path(text, text, text) is 'Take back what grant_path gave.';

create or replace function tree_builder.row_policies()
returns table (relation regclass, condition text)
language sql stable
set search_path = pg_catalog
as $$
    -- A directory's own nodes, and the root, have no doc_path: who may not see all of the directory does not see them.
    values
    ('tree_builder.path_grants'::regclass, 'reader = any((select tree_builder.reader_roles())::text [])'),
    (
        'tree_builder.corpora'::regclass,
        'exists (select 1 from tree_builder.path_grants as g where g.corpus_id = corpora.corpus_id)'
    ),
    (
        'tree_builder.runs'::regclass,
        'exists (select 1 from tree_builder.path_grants as g where g.corpus_id = runs.corpus_id)'
    ),
    (
        'tree_builder.documents'::regclass,
        'exists (select 1 from tree_builder.path_grants as g where g.corpus_id = documents.corpus_id'
        ' and tree_builder.lies_within(documents.doc_path, g.prefix))'
    ),
    (
        'tree_builder.node'::regclass,
        'exists (select 1 from tree_builder.path_grants as g where g.corpus_id = node.corpus_id'
        ' and tree_builder.lies_within(coalesce(node.doc_path, node.dir_path), g.prefix))'
    ),
    -- offset 0: one look into the index for each row in question; without it every search may begin by hashing all nodes.
    ('tree_builder.texts'::regclass, 'exists (select 1 from tree_builder.node as n where n.text_id = texts.text_id offset 0)'),
    ('tree_builder.vectors'::regclass, 'exists (select 1 from tree_builder.node as n where n.text_id = vectors.text_id offset 0)'),
    ('tree_builder.memo'::regclass, null),
    ('tree_builder.memo_uses'::regclass, null)
$$;
comment on function tree_builder.row_policies() is
'Which rows of which table a reader sees under row security; a null lets nobody but the owner see any.';

create or replace function tree_builder.enable_row_security()
returns void
language plpgsql
set search_path = pg_catalog
set client_min_messages = warning
as $$
declare
    policy record;
begin
    for policy in select p.relation, p.condition from tree_builder.row_policies() as p loop
        execute format('drop policy if exists readers on %s', policy.relation);
        if policy.condition is not null then
            execute format('create policy readers on %s for select using (%s)', policy.relation, policy.condition);
        end if;
        execute format('alter table %s enable row level security', policy.relation);
    end loop;
end
$$;
comment on function tree_builder.enable_row_security() is
'From now on every role but the owner sees only what path_grants lets it see, and a summary only if it may see all below it.';

create or replace function tree_builder.disable_row_security()
returns void
language plpgsql
set search_path = pg_catalog
set client_min_messages = warning
as $$
declare
    policy record;
begin
    for policy in select p.relation from tree_builder.row_policies() as p loop
        execute format('alter table %s disable row level security', policy.relation);
        execute format('drop policy if exists readers on %s', policy.relation);
    end loop;
end
$$;
comment on function tree_builder.disable_row_security() is 'Every role which may read sees everything again.';

revoke execute on function
tree_builder.grant_path(text, text, text),
tree_builder.revoke_path(text, text, text),
tree_builder.enable_row_security(),
tree_builder.disable_row_security()
from public;

do $$
declare
    reading_view text;
begin
    if not exists (select 1 from pg_catalog.pg_roles where rolname = 'tree_reader') then
        return;
    end if;
    grant usage on schema tree_builder to tree_reader;
    grant select on
    tree_builder.corpora, tree_builder.embedding_models, tree_builder.documents, tree_builder.texts,
    tree_builder.vectors, tree_builder.node, tree_builder.path_grants
    to tree_reader;
    -- Reports name files, and holders name machines: readers see when a run was, no more.
    grant select (run_id, corpus_id, state, started_at, ended_at) on tree_builder.runs to tree_reader;
    for reading_view in
        select format('%I.%I', v.schemaname, v.viewname) from pg_catalog.pg_views as v where v.schemaname = 'tree_builder'
    loop
        execute format('grant select on %s to tree_reader', reading_view);
    end loop;
end
$$;
