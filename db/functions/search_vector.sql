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

create or replace function tree_builder.vector_hits(
    query vector, want integer, scope tree_builder.search_scope, dimensions integer
)
returns table (node_id uuid, text_id uuid, similarity double precision, place integer)
language plpgsql stable
set search_path = pg_catalog
set jit = off
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 200
set hnsw.max_scan_tuples = 40000
as $$
declare
    -- Up to so many vectors are compared one by one; it takes about as long as a long walk through the index.
    few constant integer := least(4000, greatest(800, 2000000 / dimensions));
    -- The index knows vectors by half floats: some more are taken, and put in order by the whole ones.
    near constant integer := want + want / 2 + 10;
    pgvector constant name := tree_builder.vector_schema();
    sample uuid [];
begin
    if tree_builder.is_limited(scope) or row_security_active('tree_builder.node') then
        sample := tree_builder.search_sample(scope, few);
        -- Of more than a fifth of all vectors the index soon finds enough.
        if cardinality(sample) > 1000 and cardinality(sample) > 0.2 * (
            select c.reltuples from pg_class as c
            where c.oid = to_regclass(format('tree_builder.vectors_%s_idx', scope.model_id))
        ) then
            sample := null;
        end if;
    end if;
    if sample is null then
        perform set_config('hnsw.ef_search', least(1000, greatest(200, 2 * near))::text, true);
        execute format(
            'select array('
            ' select v.text_id from tree_builder.vectors as v'
            ' cross join lateral ('
            ' select 1 from tree_builder.node as n'
            ' inner join tree_builder.corpora as n_c on n.corpus_id = n_c.corpus_id'
            ' where n.text_id = v.text_id and %4$s limit 1'
            ' ) as fits'
            ' where v.model_id = %2$s and v.indexed'
            ' order by v.embedding::%1$I.halfvec(%3$s) operator(%1$I.<=>) $2::%1$I.halfvec(%3$s) limit $3)',
            pgvector, scope.model_id, dimensions, tree_builder.search_condition('n')
        ) into sample using scope, query, near;
        -- The walk through the index ends some time; what is far from the query is compared one by one then.
        if cardinality(sample) < want then
            sample := tree_builder.search_sample(scope, 2000000000);
        end if;
    end if;
    return query execute tree_builder.vector_statement(format(
        'select v.text_id, v.embedding operator(%1$I.<=>) $2 as distance'
        ' from tree_builder.vectors as v where v.model_id = %2$s and v.text_id = any($4)'
        ' order by 2, 1 limit $3', pgvector, scope.model_id
    )) using scope, query, want, sample;
end
$$;
comment on function tree_builder.vector_hits(vector, integer, tree_builder.search_scope, integer) is
'The nodes nearest to a vector, of the model which the scope names: by index, or one by one where the scope leaves few.';

create or replace function tree_builder.vector_statement(source text)
returns text
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    select format($statement$
        with near as materialized (%1$s)
        select h.node_id, h.text_id, 1 - h.distance, row_number() over (order by h.distance, h.doc_path, h.level, h.node_id)::integer
        from (
            select n.node_id, near.text_id, n.doc_path, n.level, near.distance
            from near
            cross join lateral (%2$s) as n
            order by near.distance, n.doc_path, n.level, n.node_id
            limit $3
        ) as h
        order by 4
    $statement$, $1, tree_builder.nodes_of_text('near.text_id'))
$$;
comment on function tree_builder.vector_statement(text) is 'The statement which turns near texts into nodes, best first.';
