-- Paths and corpora as people name them. Re-runnable.

create or replace function tree_builder.clean_path(path text)
returns text
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    select case when cleaned = '' then '.' else cleaned end
    from (select regexp_replace(rtrim(coalesce(path, ''), '/'), '^(\./+)+', '') as cleaned) as c
$$;
comment on function tree_builder.clean_path(text) is
'A path as the tree has it: no slash at the end, no ./ before it; the corpus folder itself is a single dot.';

create or replace function tree_builder.corpus_id(corpus text default null)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog
as $$
declare
    found_ids integer [];
begin
    found_ids := array(
        select c.corpus_id from tree_builder.corpora as c
        where corpus_id.corpus is null or c.corpus = corpus_id.corpus
        limit 2
    );
    if cardinality(found_ids) = 1 then
        return found_ids[1];
    elsif corpus_id.corpus is not null then
        raise exception 'there is no corpus %', quote_literal(corpus_id.corpus)
            using errcode = 'no_data_found', hint = 'The view tree_builder.corpus_summaries lists what there is.';
    elsif cardinality(found_ids) = 0 then
        raise exception 'there is no corpus in this database'
            using errcode = 'no_data_found', hint = 'Build one first: tree-builder build FOLDER.';
    end if;
    raise exception 'there are several corpora in this database: say which one'
        using errcode = 'ambiguous_parameter',
        hint = 'The view tree_builder.corpus_summaries lists what there is.';
end
$$;
comment on function tree_builder.corpus_id(text) is
'The id of a corpus by its name; without a name, of the only corpus which there is. Raises an error when there is no such one.';
