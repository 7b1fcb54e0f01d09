-- Walking the published tree from a node: up, down, to the passages. Re-runnable.

create or replace function tree_builder.children(node uuid)
returns setof tree_builder.tree_row
language sql stable parallel safe
set search_path = pg_catalog
as $$
    select n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, t.content,
        n.char_start, n.char_end, n.page_start, n.page_end, n.since_run, 1
    from tree_builder.published_node as n
    inner join tree_builder.texts as t on n.text_id = t.text_id
    where n.parent_id = $1
    order by n.position
$$;
comment on function tree_builder.children(uuid) is 'The nodes which a node covers, in order.';

create or replace function tree_builder.parents(node uuid)
returns setof tree_builder.tree_row
language sql stable parallel safe
set search_path = pg_catalog
rows 8
as $$
    with recursive above as (
        select n.*, 0 as depth
        from tree_builder.published_node as n
        where n.node_id = $1
        union all
        select n.*, a.depth + 1
        from above as a
        inner join tree_builder.published_node as n on a.parent_id = n.node_id
    )
    select n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, t.content,
        n.char_start, n.char_end, n.page_start, n.page_end, n.since_run, n.depth
    from above as n
    inner join tree_builder.texts as t on n.text_id = t.text_id
    where n.depth > 0
    order by n.depth
$$;
comment on function tree_builder.parents(uuid) is 'The summaries above a node, the nearest first, up to the root.';

create or replace function tree_builder.nodes_below(node uuid, depth integer default null)
returns table (
    node_id uuid, corpus text, node_type text, level integer, parent_id uuid, place integer, doc_path text, dir_path text,
    text_id uuid, char_start integer, char_end integer, page_start integer, page_end integer, since_run bigint,
    steps integer, way bytea
)
language plpgsql stable
set search_path = pg_catalog
set jit = off
set work_mem = '32MB' -- what lies below a path is put together in memory: 30,000 nodes take less
set plan_cache_mode = force_custom_plan
rows 100
as $$
declare
    top record;
begin
    select n.*, c.corpus, c.published_run
    into top
    from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    where n.node_id = nodes_below.node and n.since_run <= c.published_run and n.until_run > c.published_run;
    if not found then
        return;
    elsif nodes_below.depth <= 2 then
        -- A few steps: from parent to children by the index.
        return query
        with recursive below as (
            select n.*, 0 as steps, ''::bytea as way
            from tree_builder.node as n
            where n.node_id = top.node_id and n.since_run = top.since_run
            union all
            select n.*, b.steps + 1, b.way || int4send(n.position)
            from below as b
            inner join tree_builder.node as n on b.node_id = n.parent_id
            where
                b.steps < nodes_below.depth
                and n.corpus_id = top.corpus_id and n.since_run <= top.published_run and n.until_run > top.published_run
        )
        select b.node_id, top.corpus, b.node_type, b.level, b.parent_id, b.position, b.doc_path::text, b.dir_path::text, b.text_id,
            b.char_start, b.char_end, b.page_start, b.page_end, b.since_run, b.steps, b.way
        from below as b;
    else
        -- All the way down: what lies below the path is read as a whole and put together in memory; it takes a quarter of the time.
        return query
        with recursive scope as materialized (
            select n.*
            from tree_builder.node as n
            where
                n.corpus_id = top.corpus_id and n.since_run <= top.published_run and n.until_run > top.published_run
                and (
                    n.doc_path = top.doc_path
                    or (
                        top.doc_path is null
                        and (
                            top.dir_path = '.'
                            or (n.doc_path >= top.dir_path || '/' and n.doc_path < top.dir_path || '0')
                            or (n.doc_path is null and n.dir_path = top.dir_path)
                            or (n.doc_path is null and n.dir_path >= top.dir_path || '/' and n.dir_path < top.dir_path || '0')
                        )
                    )
                )
        ), below as (
            select s.node_id, 0 as steps, ''::bytea as way
            from scope as s
            where s.node_id = top.node_id
            union all
            select s.node_id, b.steps + 1, b.way || int4send(s.position)
            from below as b
            inner join scope as s on b.node_id = s.parent_id
            where b.steps < coalesce(nodes_below.depth, 2147483647)
        )
        select s.node_id, top.corpus, s.node_type, s.level, s.parent_id, s.position, s.doc_path::text, s.dir_path::text, s.text_id,
            s.char_start, s.char_end, s.page_start, s.page_end, s.since_run, b.steps, b.way
        from below as b
        inner join scope as s on b.node_id = s.node_id;
    end if;
end
$$;
comment on function tree_builder.nodes_below(uuid, integer) is
'A node and what lies below it without texts, in no order; way: the positions on the way down as bytes, which sort in document order.';

create or replace function tree_builder.subtree(node uuid, depth integer default null)
returns setof tree_builder.tree_row
language sql stable
begin atomic -- bound when made, so that it needs no search path and can become part of the query which calls it
    select n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.place, n.doc_path, n.dir_path, t.content,
        n.char_start, n.char_end, n.page_start, n.page_end, n.since_run, n.steps
    -- Put in order before the texts join in: rows are narrow then, and texts of a document stand side by side. A left join: each
    -- node has a text, but the planner leaves the texts out where nobody asks for the content, and they are half of the time.
    from (select b.* from tree_builder.nodes_below($1, $2) as b order by b.way offset 0) as n
    left join tree_builder.texts as t on n.text_id = t.text_id
    order by n.way;
end;
comment on function tree_builder.subtree(uuid, integer) is
'A node and all below it, each before what it covers, in document order; depth: at most so many steps down.';

create or replace function tree_builder.leaves(node uuid)
returns setof tree_builder.tree_row
language sql stable
begin atomic -- bound when made, so that it needs no search path and can become part of the query which calls it
    select n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.place, n.doc_path, n.dir_path, t.content,
        n.char_start, n.char_end, n.page_start, n.page_end, n.since_run, n.steps
    from (select b.* from tree_builder.nodes_below($1) as b where b.node_type = 'chunk' order by b.way offset 0) as n
    left join tree_builder.texts as t on n.text_id = t.text_id
    order by n.way;
end;
comment on function tree_builder.leaves(uuid) is 'The passages which a node covers, in document order.';

create or replace function tree_builder.top(path text default '.', corpus text default null)
returns uuid
language sql stable parallel safe
set search_path = pg_catalog
as $$
    select n.node_id
    from tree_builder.published_node as n
    where
        n.corpus_id = tree_builder.corpus_id($2)
        and (
            (n.doc_path = tree_builder.clean_path($1) and n.node_type = 'doc_top')
            or (n.doc_path is null and n.dir_path = tree_builder.clean_path($1) and n.node_type in ('dir_top', 'root'))
        )
    -- The corpus folder has a root, and may have a dir_top of its own below it.
    order by n.level desc
    limit 1
$$;
comment on function tree_builder.top(text, text) is 'The node which holds the summary of a path; null for a path which is not in the tree.';

create or replace function tree_builder.outline(path text default '.', depth integer default 2, corpus text default null)
returns setof tree_builder.outline_row
language sql stable
set search_path = pg_catalog
as $$
    select s.depth, s.node_id, s.parent_id, s.node_type,
        coalesce(s.doc_path, s.dir_path),
        case
            when s.node_type in ('doc_top', 'dir_top', 'root') then coalesce(s.doc_path, s.dir_path)
            else regexp_replace(left(s.content, 100), '\s+', ' ', 'g')
        end,
        s.level, s.page_start, s.page_end, s.char_start, s.char_end,
        (
            select count(*) from tree_builder.published_node as n where n.parent_id = s.node_id
        )
    from tree_builder.subtree(tree_builder.top($1, $3), $2) as s
$$;
comment on function tree_builder.outline(text, integer, text) is
'What a document or directory is made of, so many steps down: one line a node, in document order.';
