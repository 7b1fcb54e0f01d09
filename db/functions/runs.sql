-- Earlier runs: the tree as it was, and what changed between two. Re-runnable.

create or replace function tree_builder.kept_run(run bigint)
returns integer
language plpgsql stable
set search_path = pg_catalog
as $$
declare
    corpus_id integer;
begin
    select r.corpus_id into corpus_id from tree_builder.runs as r where r.run_id = run and r.state = 'published';
    if not found then
        raise exception 'there is no kept tree of run %', run
            using errcode = 'no_data_found',
            hint = 'Only published runs have one, and only the latest are kept (setting keep): see the query fetch_runs.';
    end if;
    return corpus_id;
end
$$;
comment on function tree_builder.kept_run(bigint) is 'The corpus of a published run whose tree is still kept; an error for any other.';

create or replace function tree_builder.nodes_at(run bigint)
returns setof tree_builder.tree_row
language plpgsql stable
set search_path = pg_catalog
as $$
declare
    its_corpus constant integer := tree_builder.kept_run(run);
begin
    return query
    select n.node_id, c.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path::text, n.dir_path::text, t.content,
        n.char_start, n.char_end, n.page_start, n.page_end, n.since_run, null::integer
    from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    inner join tree_builder.texts as t on n.text_id = t.text_id
    where n.corpus_id = its_corpus and n.since_run <= run and n.until_run > run;
end
$$;
comment on function tree_builder.nodes_at(bigint) is 'The tree as a kept run published it.';

create or replace function tree_builder.tops_at(run bigint)
returns table (
    node_id uuid, node_type text, top_path text, top_body bytea, top_text uuid
)
language sql stable
set search_path = pg_catalog
as $$
    select n.node_id, case n.node_type when 'doc_top' then 'document' else 'directory' end,
        coalesce(n.doc_path, n.dir_path), n.body, n.text_id
    from tree_builder.node as n
    where
        n.corpus_id = tree_builder.kept_run($1) and n.since_run <= $1 and n.until_run > $1
        and (n.node_type in ('doc_top', 'root') or (n.node_type = 'dir_top' and n.dir_path <> '.'))
$$;
comment on function tree_builder.tops_at(bigint) is 'The tops of documents and directories as a kept run published them.';

create or replace function tree_builder.changes(from_run bigint, to_run bigint, corpus text default null)
returns setof tree_builder.change_row
language plpgsql stable
set search_path = pg_catalog
as $$
begin
    if tree_builder.kept_run(from_run) <> tree_builder.kept_run(to_run) then
        raise exception 'runs % and % are of different corpora', from_run, to_run using errcode = 'invalid_parameter_value';
    elsif changes.corpus is not null and tree_builder.corpus_id(changes.corpus) <> tree_builder.kept_run(to_run) then
        raise exception 'run % is not of the corpus %', to_run, quote_literal(changes.corpus)
            using errcode = 'invalid_parameter_value';
    end if;
    return query
    with paired as materialized (
        select
            coalesce(o.node_type, n.node_type) as node_type,
            o.node_id as old_id, o.top_path as old_path, o.top_body as old_body, o.top_text as old_text,
            n.node_id as new_id, n.top_path as new_path, n.top_body as new_body, n.top_text as new_text
        from tree_builder.tops_at(from_run) as o
        full join tree_builder.tops_at(to_run) as n on o.node_type = n.node_type and o.top_path = n.top_path
    ), gone as (
        select p.*, row_number() over (partition by p.old_body order by p.old_path) as twin
        from paired as p where p.new_path is null and p.node_type = 'document'
    ), come as (
        select p.*, row_number() over (partition by p.new_body order by p.new_path) as twin
        from paired as p where p.old_path is null and p.node_type = 'document'
    ), moved as (
        select g.old_id, g.old_path, g.old_text, c.new_id, c.new_path, c.new_text
        from gone as g inner join come as c on g.old_body = c.new_body and g.twin = c.twin
    ), listed as (
        select 'moved' as change, 'document' as node_type, m.new_path as path, m.old_path, m.old_text, m.new_text, m.old_id, m.new_id
        from moved as m
        union all
        select
            case when p.old_path is null then 'added' when p.new_path is null then 'removed' else 'changed' end,
            p.node_type, coalesce(p.new_path, p.old_path), p.old_path, p.old_text, p.new_text, p.old_id, p.new_id
        from paired as p
        where
            p.old_body is distinct from p.new_body
            and not exists (select 1 from moved as m where m.old_id = p.old_id and p.new_id is null)
            and not exists (select 1 from moved as m where m.new_id = p.new_id and p.old_id is null)
    )
    select l.change, l.node_type, l.path::text, l.old_path::text, o.content, n.content, l.old_id, l.new_id
    from listed as l
    left join tree_builder.texts as o on l.old_text = o.text_id
    left join tree_builder.texts as n on l.new_text = n.text_id
    order by l.path, l.node_type desc, l.change;
end
$$;
comment on function tree_builder.changes(bigint, bigint, text) is
'Which documents and directories differ between two kept runs of one corpus: added, removed, changed (something at or '
'below it) or moved, with both summaries.';
