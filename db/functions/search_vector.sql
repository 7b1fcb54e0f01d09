-- Search by vector, and the index which makes it fast. Re-runnable.

create or replace function tree_builder.vector_schema()
returns name
language sql stable parallel safe
set search_path = pg_catalog
as $$
    select n.nspname from pg_extension as e inner join pg_namespace as n on e.extnamespace = n.oid where e.extname = 'vector'
$$;
comment on function tree_builder.vector_schema() is 'The schema in which pgvector was installed.';

create or replace function tree_builder.vector_index_statement(model_id integer)
returns text
language sql stable
set search_path = pg_catalog
as $$
    -- halfvec: half the size, with the vectors of models seen so far no loss in recall, since hits are ordered again by
    -- the whole vector; and it is the only form for more than 2000 dimensions.
    select format(
        'create index concurrently if not exists vectors_%1$s_idx on tree_builder.vectors'
        ' using hnsw ((embedding::%2$I.halfvec(%3$s)) %2$I.halfvec_cosine_ops) where model_id = %1$s and indexed',
        m.model_id, tree_builder.vector_schema(), m.dimensions
    )
    from tree_builder.embedding_models as m
    where m.model_id = $1 and m.dimensions <= 4000
$$;
comment on function tree_builder.vector_index_statement(integer) is
'The statement which makes the index of one model''s vectors, to be run by itself, best after the bulk of them is there. Null for more '
'than 4000 dimensions, which pgvector cannot index: search is exact then.';

create or replace function tree_builder.vector_model(dimensions integer, corpus text default null, model text default null)
returns integer
language plpgsql stable
set search_path = pg_catalog
as $$
declare
    ids integer [];
    known text;
begin
    ids := array(
        select distinct m.model_id
        from tree_builder.corpora as c
        inner join tree_builder.embedding_models as m on c.model_id = m.model_id
        where
            m.dimensions = vector_model.dimensions
            and (vector_model.corpus is null or c.corpus = vector_model.corpus)
            and (vector_model.model is null or m.model = vector_model.model)
        limit 2
    );
    if cardinality(ids) = 1 then
        return ids[1];
    elsif cardinality(ids) = 2 then
        raise exception 'several models have vectors of % dimensions: name the corpus, or the model', dimensions
            using errcode = 'ambiguous_parameter', hint = 'The view tree_builder.corpus_summaries tells each corpus''s model.';
    end if;
    select string_agg(distinct format('%s of %s dimensions (corpus %L)', m.model, m.dimensions, c.corpus), ', ') into known
    from tree_builder.corpora as c
    inner join tree_builder.embedding_models as m on c.model_id = m.model_id
    where vector_model.corpus is null or c.corpus = vector_model.corpus;
    raise exception 'the query vector has % dimensions%, no such vectors are there', dimensions,
        coalesce(' of ' || quote_literal(vector_model.model), '')
        using errcode = 'data_exception', hint = 'Embed the query with the model of the corpus: ' || coalesce(known, 'there is none yet') || '.';
end
$$;
comment on function tree_builder.vector_model(integer, text, text) is
'The embedding model which a query vector can be compared with; an error when none fits, or more than one. Vectors of '
'different models are never compared.';

drop function if exists tree_builder.vector_statement(text);
drop function if exists tree_builder.vector_hits(vector, integer, tree_builder.search_scope, integer);

create or replace function tree_builder.near_texts(
    query vector, want integer, scope tree_builder.search_scope, dimensions integer, filtered boolean
)
returns uuid []
language plpgsql stable
set search_path = pg_catalog
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 200
set hnsw.max_scan_tuples = 40000
as $$
declare
    texts uuid [];
begin
    perform set_config('hnsw.ef_search', least(1000, greatest(200, 2 * want))::text, true);
    execute format(
        'select array('
        ' select v.text_id from tree_builder.vectors as v%4$s'
        ' where v.model_id = %2$s and v.indexed'
        ' order by v.embedding::%1$I.halfvec(%3$s) operator(%1$I.<=>) $2::%1$I.halfvec(%3$s) limit $3)',
        tree_builder.vector_schema(), scope.model_id, dimensions,
        case when filtered then
            ' cross join lateral ('
            ' select 1 from tree_builder.node as n'
            ' inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id'
            ' where n.text_id = v.text_id and tree_builder.is_within(n, c, $1) limit 1'
            ' ) as fits'
        end
    ) into texts using scope, query, want;
    return texts;
end
$$;
comment on function tree_builder.near_texts(vector, integer, tree_builder.search_scope, integer, boolean) is
'The texts about nearest to a vector, by the index of the model which the scope names; of all texts, or of those within the scope.';

create or replace function tree_builder.similarities(query vector, model_id integer, text_ids uuid [])
returns table (text_id uuid, similarity double precision)
language plpgsql stable
set search_path = pg_catalog
as $$
begin
    return query execute format(
        'select v.text_id, 1 - (v.embedding operator(%1$I.<=>) $1)'
        ' from tree_builder.vectors as v where v.model_id = $2 and v.text_id = any($3)', tree_builder.vector_schema()
    ) using query, model_id, text_ids;
end
$$;
comment on function tree_builder.similarities(vector, integer, uuid []) is
'How similar texts are to a vector, by cosine and the whole vectors; a text without a vector of the model is left out.';

create or replace function tree_builder.near_nodes(
    query vector, text_ids uuid [], want integer, at_least integer, scope tree_builder.search_scope
)
returns table (
    node_id uuid, text_id uuid, similarity double precision, place integer, corpus_id integer, doc_path text
)
language plpgsql stable
set search_path = pg_catalog
as $$
declare
    near uuid [];
    near_similarities double precision [];
begin
    select
        array_agg(s.text_id order by s.similarity desc, s.text_id),
        array_agg(s.similarity order by s.similarity desc, s.text_id)
    into near, near_similarities
    from tree_builder.similarities(query, scope.model_id, text_ids) as s;
    return query
        with h as materialized (select n.* from tree_builder.text_nodes(near, want, scope) as n)
        select
            h.node_id, h.text_id, near_similarities[h.nth],
            row_number() over (order by near_similarities[h.nth] desc, h.doc_path, h.level, h.node_id)::integer,
            h.corpus_id, h.doc_path
        from h
        where (select count(*) from h) >= at_least;
end
$$;
comment on function tree_builder.near_nodes(vector, uuid [], integer, integer, tree_builder.search_scope) is
'The nodes within a scope which have the texts, the nearest to a vector first; none when they are fewer than the least number.';

create or replace function tree_builder.vector_hits(
    query vector, want integer, scope tree_builder.search_scope, dimensions integer
)
returns table (
    node_id uuid, text_id uuid, similarity double precision, place integer, corpus_id integer, doc_path text
)
language plpgsql stable
set search_path = pg_catalog
set jit = off
as $$
declare
    -- Up to so many vectors are compared one by one; it takes about as long as a long walk through the index.
    few constant integer := least(4000, greatest(800, 2000000 / dimensions));
    -- The index knows vectors by half floats: some more are taken, and put in order by the whole ones.
    near constant integer := want + want / 2 + 10;
    secured constant boolean := row_security_active('tree_builder.node');
    sample uuid [];
begin
    if secured or tree_builder.is_limited(scope) then
        sample := tree_builder.search_sample(scope, few);
        -- Of more than a fifth of all vectors the index soon finds enough.
        if cardinality(sample) > 1000 and cardinality(sample) > 0.2 * (
            select c.reltuples from pg_class as c
            where c.oid = to_regclass(format('tree_builder.vectors_%s_idx', scope.model_id))
        ) then
            sample := null;
        end if;
    end if;
    if sample is null and not secured and tree_builder.is_corpus_only(scope) then
        -- The nearest of all corpora are mostly of the one: a look at each text's nodes within the walk is spared.
        sample := tree_builder.near_texts(query, near, scope, dimensions, false);
        return query select h.* from tree_builder.near_nodes(query, sample, want, want, scope) as h;
        if found then
            return;
        end if;
        sample := null;
    end if;
    if sample is null then
        sample := tree_builder.near_texts(query, near, scope, dimensions, true);
        -- The walk through the index ends some time; what is far from the query is compared one by one then.
        if cardinality(sample) < want then
            sample := tree_builder.search_sample(scope, 2000000000);
        end if;
    end if;
    return query select h.* from tree_builder.near_nodes(query, sample, want, 0, scope) as h;
end
$$;
comment on function tree_builder.vector_hits(vector, integer, tree_builder.search_scope, integer) is
'The nodes nearest to a vector, of the model which the scope names: by index, or one by one where the scope leaves few.';
