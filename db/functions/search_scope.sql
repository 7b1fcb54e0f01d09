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

drop function if exists tree_builder.search_condition(text), tree_builder.nodes_of_text(text);

-- No settings and no subqueries: the planner puts the condition in the place of the call, and what is null vanishes from the plan.
create or replace function tree_builder.is_within(
    n tree_builder.node, c tree_builder.corpora, scope tree_builder.search_scope
)
returns boolean
language sql stable parallel safe
as $$
    select
        n.since_run <= c.published_run and n.until_run > c.published_run
        and ((scope).model_id is null or c.model_id = (scope).model_id)
        and ((scope).corpus_id is null or n.corpus_id = (scope).corpus_id)
        and ((scope).document is null or n.doc_path = (scope).document)
        and (
            (scope).directory is null
            or n.doc_path = (scope).directory
            or (n.doc_path >= (scope).directory || '/' and n.doc_path < (scope).directory || '0')
            or (n.doc_path is null and n.dir_path = (scope).directory)
            or (n.doc_path is null and n.dir_path >= (scope).directory || '/' and n.dir_path < (scope).directory || '0')
        )
        and ((scope).node_types is null or n.node_type = any((scope).node_types))
        and ((scope).min_level is null or n.level >= (scope).min_level)
        and ((scope).max_level is null or n.level <= (scope).max_level)
        and ((scope).first_page is null or n.page_end >= (scope).first_page)
        and ((scope).last_page is null or n.page_start <= (scope).last_page)
        and ((scope).min_run is null or n.since_run >= (scope).min_run)
        and ((scope).max_run is null or n.since_run <= (scope).max_run)
$$;
comment on function tree_builder.is_within(tree_builder.node, tree_builder.corpora, tree_builder.search_scope) is
'Whether a node of a corpus is published and within a scope.';

create or replace function tree_builder.text_nodes(text_ids uuid [], want integer, scope tree_builder.search_scope)
returns table (node_id uuid, text_id uuid, nth bigint, corpus_id integer, doc_path text, level integer)
language plpgsql stable
set search_path = pg_catalog
set plan_cache_mode = force_generic_plan -- planning takes longer than the look-ups, and no filter changes how these are done
as $$
declare
    step constant integer := want + want / 2 + 10; -- nearly always enough, so that the rest is not looked up
    skipped integer := 0;
    n_found integer := 0;
    n_added integer;
begin
    while n_found < want and skipped < coalesce(cardinality(text_ids), 0) loop
        -- A lone item is promoted into a top with the same content. Of such a chain the lowest which fits is given, so that a
        -- passage is found as the passage, and once.
        return query
        select n.node_id, n.text_id, skipped + t.nth, n.corpus_id, n.doc_path, n.level
        from unnest(text_ids[skipped + 1:skipped + step]) with ordinality as t (text_id, nth)
        inner join tree_builder.node as n on t.text_id = n.text_id
        inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
        where
            tree_builder.is_within(n, c, scope)
            and (
                n.level = 0
                or not exists (
                    select 1 from tree_builder.node as l
                    where
                        l.text_id = n.text_id and l.corpus_id = n.corpus_id and l.level < n.level
                        and tree_builder.is_within(l, c, scope)
                        and (
                            l.doc_path = n.doc_path
                            or (n.doc_path is null and (
                                n.dir_path = '.' or l.dir_path = n.dir_path or starts_with(l.dir_path, n.dir_path || '/')
                            ))
                        )
                )
            )
        order by t.nth, n.doc_path, n.level, n.node_id
        limit want - n_found;
        get diagnostics n_added = row_count;
        n_found := n_found + n_added;
        skipped := skipped + step;
    end loop;
end
$$;
comment on function tree_builder.text_nodes(uuid [], integer, tree_builder.search_scope) is
'The first so many nodes within a scope which have the texts, in the order of these; chains of promoted ones once.';

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
set plan_cache_mode = force_custom_plan -- which index is the best depends on the filters
as $$
declare
    part tree_builder.search_scope;
    readable text;
    sampled uuid [];
begin
    if not row_security_active('tree_builder.node') then
        if tree_builder.is_corpus_only(scope) then
            -- A whole corpus is mostly a large one, which its first documents tell without a look at its nodes.
            perform 1 from (
                select sum(d.n_chunks) over (order by d.doc_path rows unbounded preceding) as n_chunks
                from tree_builder.documents as d where d.corpus_id = scope.corpus_id
            ) as counted
            where counted.n_chunks > most limit 1;
            if found then
                return null;
            end if;
        end if;
        sampled := array(
            select n.text_id from tree_builder.node as n
            inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
            where tree_builder.is_within(n, c, scope) limit most + 1
        );
    else
        -- The paths which the reader may see are put into words which an index answers; the policies check once more.
        for part.corpus_id, readable in
            select g.corpus_id, g.prefix from tree_builder.path_grants as g
            where scope.corpus_id is null or g.corpus_id = scope.corpus_id
        loop
            part := tree_builder.search_scope_within(scope, part.corpus_id, readable);
            if part.corpus_id is not null then
                sampled := sampled || array(
                    select n.text_id from tree_builder.node as n
                    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
                    where tree_builder.is_within(n, c, part) limit most + 1 - coalesce(cardinality(sampled), 0)
                );
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
