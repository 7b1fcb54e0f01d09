-- Which nodes a search is about: the filters, checked once, and as a condition. Re-runnable.

create or replace function tree_builder.search_scope(
    corpus text default null,
    directory text default null,
    document text default null,
    node_types text [] default null,
    min_level integer default null,
    max_level integer default null,
    first_page integer default null,
    last_page integer default null,
    since timestamptz default null,
    before timestamptz default null
)
returns tree_builder.search_scope
language plpgsql stable
set search_path = pg_catalog
as $$
declare
    scope tree_builder.search_scope;
    unknown text;
begin
    select t.node_type into unknown from unnest(node_types) as t (node_type)
    where t.node_type is null or t.node_type not in ('chunk', 'summary', 'doc_top', 'dir_top', 'root');
    if found then
        raise exception 'there is no node type %', quote_nullable(unknown)
            using errcode = 'invalid_parameter_value', hint = 'Known are chunk, summary, doc_top, dir_top and root.';
    end if;
    if search_scope.corpus is not null then
        scope.corpus_id := tree_builder.corpus_id(search_scope.corpus);
    end if;
    scope.directory := nullif(tree_builder.clean_path(search_scope.directory), '.');
    scope.document := tree_builder.clean_path(search_scope.document);
    if search_scope.document is null then
        scope.document := null;
    end if;
    scope.node_types := search_scope.node_types;
    scope.min_level := search_scope.min_level;
    if not 'chunk' = any(search_scope.node_types) then
        -- All but chunks are above level 0, and an index knows where those are.
        scope.min_level := greatest(scope.min_level, 1);
    end if;
    scope.max_level := search_scope.max_level;
    scope.first_page := search_scope.first_page;
    scope.last_page := search_scope.last_page;
    -- Runs are numbered in the order of their beginning, so that a time is a limit on numbers.
    if search_scope.since is not null then
        select coalesce(max(r.run_id), 0) + 1 into scope.min_run
        from tree_builder.runs as r where r.started_at < search_scope.since;
    end if;
    if search_scope.before is not null then
        select coalesce(max(r.run_id), 0) into scope.max_run
        from tree_builder.runs as r where r.started_at < search_scope.before;
    end if;
    return scope;
end
$$;
comment on function tree_builder.search_scope(
    text, text, text, text [], integer, integer, integer, integer, timestamptz, timestamptz
) is 'The filters of a search, checked: an unknown corpus or node type is an error; a path which is not there finds nothing.';

create or replace function tree_builder.is_limited(scope tree_builder.search_scope)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog
as $$
begin
    scope.model_id := null; -- a limit on models is one on vectors already
    return not scope is null;
end
$$;
comment on function tree_builder.is_limited(tree_builder.search_scope) is 'Whether a scope has any filter.';

create or replace function tree_builder.is_corpus_only(scope tree_builder.search_scope)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog
as $$
begin
    scope.model_id := null;
    scope.corpus_id := null;
    return scope is null;
end
$$;
comment on function tree_builder.is_corpus_only(tree_builder.search_scope) is 'Whether a scope has no filter but, at most, a corpus.';

create or replace function tree_builder.search_condition(alias text)
returns text
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    -- $1 is the scope. Its parts are known when the statement is planned, so what is null vanishes from the plan.
    select replace($condition$
        {n}.since_run <= {n}_c.published_run and {n}.until_run > {n}_c.published_run
        and (($1).model_id is null or {n}_c.model_id = ($1).model_id)
        and (($1).corpus_id is null or {n}.corpus_id = ($1).corpus_id)
        and (($1).document is null or {n}.doc_path = ($1).document)
        and (
            ($1).directory is null
            or {n}.doc_path = ($1).directory
            or ({n}.doc_path >= ($1).directory || '/' and {n}.doc_path < ($1).directory || '0')
            or ({n}.doc_path is null and {n}.dir_path = ($1).directory)
            or ({n}.doc_path is null and {n}.dir_path >= ($1).directory || '/' and {n}.dir_path < ($1).directory || '0')
        )
        and (($1).node_types is null or {n}.node_type = any(($1).node_types))
        and (($1).min_level is null or {n}.level >= ($1).min_level)
        and (($1).max_level is null or {n}.level <= ($1).max_level)
        and (($1).first_page is null or {n}.page_end >= ($1).first_page)
        and (($1).last_page is null or {n}.page_start <= ($1).last_page)
        and (($1).min_run is null or {n}.since_run >= ($1).min_run)
        and (($1).max_run is null or {n}.since_run <= ($1).max_run)
    $condition$, '{n}', $1)
$$;
comment on function tree_builder.search_condition(text) is
'The condition that a node is published and within the scope $1, for the statements which search; alias_c is its corpus.';

create or replace function tree_builder.nodes_of_text(text_id text)
returns text
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    -- A lone item is promoted into a top with the same content. Of such a chain the lowest which fits is given, so that a
    -- passage is found as the passage, and once.
    select format($nodes$
        select n.node_id, n.doc_path, n.level
        from tree_builder.node as n
        inner join tree_builder.corpora as n_c on n.corpus_id = n_c.corpus_id
        where
            n.text_id = %1$s and %2$s
            and (
                n.level = 0
                or not exists (
                    select 1 from tree_builder.node as l
                    inner join tree_builder.corpora as l_c on l.corpus_id = l_c.corpus_id
                    where
                        l.text_id = %1$s and l.corpus_id = n.corpus_id and l.level < n.level and %3$s
                        and (
                            l.doc_path = n.doc_path
                            or (n.doc_path is null and (
                                n.dir_path = '.' or l.dir_path = n.dir_path or starts_with(l.dir_path, n.dir_path || '/')
                            ))
                        )
                )
            )
    $nodes$, $1, tree_builder.search_condition('n'), tree_builder.search_condition('l'))
$$;
comment on function tree_builder.nodes_of_text(text) is 'The published nodes within the scope $1 which have a text, chains of promoted ones once.';

create or replace function tree_builder.search_scope_within(
    scope tree_builder.search_scope, corpus_id integer, prefix text
)
returns tree_builder.search_scope
language plpgsql immutable
set search_path = pg_catalog
as $$
begin
    if prefix = '.' or scope.directory = prefix or starts_with(scope.directory, prefix || '/') then
        null;
    elsif scope.directory is null or starts_with(prefix, scope.directory || '/') then
        scope.directory := prefix;
    else
        return null;
    end if;
    scope.corpus_id := search_scope_within.corpus_id;
    return scope;
end
$$;
comment on function tree_builder.search_scope_within(tree_builder.search_scope, integer, text) is
'The part of a scope which lies in one corpus at or below a path; null where there is none.';

create or replace function tree_builder.search_sample(scope tree_builder.search_scope, most integer)
returns uuid []
language plpgsql stable
set search_path = pg_catalog
set jit = off
as $$
declare
    part tree_builder.search_scope;
    readable text;
    sampled uuid [];
    added uuid [];
    statement constant text := format(
        'select array(select n.text_id from tree_builder.node as n'
        ' inner join tree_builder.corpora as n_c on n.corpus_id = n_c.corpus_id where %s limit $2)',
        tree_builder.search_condition('n')
    );
begin
    if not row_security_active('tree_builder.node') then
        if tree_builder.is_corpus_only(scope) then
            -- A whole corpus is mostly a large one, which the index tells without a look at its nodes.
            perform 1 from tree_builder.node as n
            where n.corpus_id = scope.corpus_id offset most limit 1;
            if found then
                return null;
            end if;
        end if;
        execute statement into sampled using scope, most + 1;
    else
        -- The paths which the reader may see are put into words which an index answers; the policies check once more.
        for part.corpus_id, readable in
            select g.corpus_id, g.prefix from tree_builder.path_grants as g
            where scope.corpus_id is null or g.corpus_id = scope.corpus_id
        loop
            part := tree_builder.search_scope_within(scope, part.corpus_id, readable);
            if part.corpus_id is not null then
                execute statement into added using part, most + 1 - coalesce(cardinality(sampled), 0);
                sampled := sampled || added;
                exit when cardinality(sampled) > most;
            end if;
        end loop;
        sampled := coalesce(sampled, '{}');
    end if;
    return case when cardinality(sampled) <= most then sampled end;
end
$$;
comment on function tree_builder.search_sample(tree_builder.search_scope, integer) is
'The texts of all nodes within a scope when they are few, null when they are more than so many. Looks at no more than that.';
