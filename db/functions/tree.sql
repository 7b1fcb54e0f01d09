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
        select n.parent_id, 0 as depth
        from tree_builder.published_node as n
        where n.node_id = $1
        union all
        select n.parent_id, a.depth + 1
        from above as a
        inner join tree_builder.published_node as n on a.parent_id = n.node_id
    )
    select n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, t.content,
        n.char_start, n.char_end, n.page_start, n.page_end, n.since_run, a.depth + 1
    from above as a
    inner join tree_builder.published_node as n on a.parent_id = n.node_id
    inner join tree_builder.texts as t on n.text_id = t.text_id
    order by a.depth
$$;
comment on function tree_builder.parents(uuid) is 'The summaries above a node, the nearest first, up to the root.';

create or replace function tree_builder.subtree(node uuid, depth integer default null)
returns setof tree_builder.tree_row
language sql stable parallel safe
set search_path = pg_catalog
as $$
    with recursive below as (
        select n.node_id, n.since_run, 0 as depth, array[]::integer [] as way
        from tree_builder.published_node as n
        where n.node_id = $1
        union all
        select n.node_id, n.since_run, b.depth + 1, b.way || n.position
        from below as b
        inner join tree_builder.published_node as n on b.node_id = n.parent_id
        where b.depth < coalesce($2, 2147483647)
    )
    select n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path, t.content,
        n.char_start, n.char_end, n.page_start, n.page_end, n.since_run, b.depth
    from below as b
    inner join tree_builder.published_node as n on b.node_id = n.node_id and b.since_run = n.since_run
    inner join tree_builder.texts as t on n.text_id = t.text_id
    order by b.way
$$;
comment on function tree_builder.subtree(uuid, integer) is
'A node and all below it, each before what it covers, in document order; depth: at most so many steps down.';

create or replace function tree_builder.leaves(node uuid)
returns setof tree_builder.tree_row
language sql stable parallel safe
set search_path = pg_catalog
as $$
    select * from tree_builder.subtree($1) as s where s.node_type = 'chunk'
$$;
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
language sql stable parallel safe
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
