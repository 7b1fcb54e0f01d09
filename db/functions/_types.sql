-- Row types of the functions. Made once; a later change of one is a migration's matter.

do $$
begin
    if to_regtype('tree_builder.tree_row') is null then
        create type tree_builder.tree_row as (
            node_id uuid,
            corpus text,
            node_type text,
            level integer,
            parent_id uuid,
            position integer,
            doc_path text,
            dir_path text,
            content text,
            char_start integer,
            char_end integer,
            page_start integer,
            page_end integer,
            run_id bigint,
            depth integer
        );
    end if;
    if to_regtype('tree_builder.summary_row') is null then
        create type tree_builder.summary_row as (
            node_id uuid,
            corpus text,
            node_type text,
            path text,
            title text,
            summary text,
            level integer,
            n_documents bigint,
            n_chunks bigint,
            n_pages bigint,
            n_chars bigint,
            built_at timestamptz,
            run_id bigint,
            stale boolean
        );
    end if;
    if to_regtype('tree_builder.outline_row') is null then
        create type tree_builder.outline_row as (
            depth integer,
            node_id uuid,
            parent_id uuid,
            node_type text,
            path text,
            heading text,
            level integer,
            page_start integer,
            page_end integer,
            char_start integer,
            char_end integer,
            n_children bigint
        );
    end if;
    if to_regtype('tree_builder.search_hit') is null then
        create type tree_builder.search_hit as (
            place integer,
            score double precision,
            similarity double precision,
            vector_place integer,
            text_score double precision,
            text_place integer,
            node_id uuid,
            corpus text,
            node_type text,
            level integer,
            parent_id uuid,
            position integer,
            doc_path text,
            dir_path text,
            title text,
            language text,
            content text,
            char_start integer,
            char_end integer,
            page_start integer,
            page_end integer,
            run_id bigint
        );
    end if;
    if to_regtype('tree_builder.search_scope') is null then
        create type tree_builder.search_scope as (
            model_id integer,
            corpus_id integer,
            directory text,
            document text,
            node_types text [],
            min_level integer,
            max_level integer,
            first_page integer,
            last_page integer,
            min_run bigint,
            max_run bigint
        );
    end if;
    if to_regtype('tree_builder.change_row') is null then
        create type tree_builder.change_row as (
            change text,
            node_type text,
            path text,
            old_path text,
            old_summary text,
            new_summary text,
            old_node_id uuid,
            new_node_id uuid
        );
    end if;
end
$$;
comment on type tree_builder.tree_row is
'A node as the walking functions give it. depth: steps from the node which was asked about. run_id: the run which wrote it.';
comment on type tree_builder.summary_row is 'A summary by path, with what lies below it.';
comment on type tree_builder.outline_row is 'A line of the outline of a path. heading: the path of a top, else the first words of the summary.';
comment on type tree_builder.search_hit is
'A hit. place: 1 is best. score: what hits are ordered by. similarity: cosine; text_score: of the words; vector_place, text_place: '
'the place in the search by vector and by words alone, null where that search did not bring it up.';
comment on type tree_builder.search_scope is 'The nodes which a search is about; null is no limit.';
comment on type tree_builder.change_row is 'A document or directory which differs between two runs: added, removed, changed or moved.';
