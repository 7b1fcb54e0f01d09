-- Search for people: by words, by vector, by both, and what is similar to a node. Re-runnable.

-- No settings: the planner puts the row in the place of the call.
create or replace function tree_builder.bare_hit(
    place integer, score double precision, similarity double precision, vector_place integer,
    text_score double precision, text_place integer, node_id uuid
)
returns tree_builder.search_hit
language sql immutable parallel safe
as $$
    select row(
        $1, $2, $3, $4, $5, $6, $7, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
    )::tree_builder.search_hit
$$;
comment on function tree_builder.bare_hit(
    integer, double precision, double precision, integer, double precision, integer, uuid
) is 'A hit with its node and scores alone; search_rows puts in what it is about.';

create or replace function tree_builder.search_rows(scores tree_builder.search_hit [])
returns setof tree_builder.search_hit
language sql stable
set search_path = pg_catalog
rows 10
as $$
    select
        s.place, s.score, s.similarity, s.vector_place, s.text_score, s.text_place,
        n.node_id, n.corpus, n.node_type, n.level, n.parent_id, n.position, n.doc_path, n.dir_path,
        coalesce(d.title, case when n.doc_path is not null then regexp_replace(n.doc_path, '^.*/', '') end),
        coalesce(t.language, d.language), t.content,
        n.char_start, n.char_end, n.page_start, n.page_end, n.since_run
    from unnest($1) as s
    inner join tree_builder.published_node as n on s.node_id = n.node_id
    inner join tree_builder.texts as t on n.text_id = t.text_id
    left join tree_builder.documents as d on n.corpus_id = d.corpus_id and n.doc_path = d.doc_path
    order by s.place
$$;
comment on function tree_builder.search_rows(tree_builder.search_hit []) is 'Hits with what they are about, of nodes and scores alone.';

drop function if exists tree_builder.search_fused(text, vector, integer, tree_builder.search_scope, text);

create or replace function tree_builder.search_fused(
    words text, query vector, dimensions integer, want integer, scope tree_builder.search_scope, fusion text
)
returns tree_builder.search_hit []
language plpgsql stable
set search_path = pg_catalog
set plan_cache_mode = force_generic_plan -- planning takes longer than what is done with some hundred candidates
as $$
begin
    -- Every candidate gets both scores, also where only one of the searches brought it up.
    return array(
        with v as materialized (
            select h.* from tree_builder.vector_hits(query, want, scope, dimensions) as h
        ), t as materialized (
            select h.* from tree_builder.text_hits(words, want, scope, array(select v.text_id from v)) as h
        ), both_sides as materialized ( -- below a policy the index takes a plain column only, no coalesce
            select coalesce(v.node_id, t.node_id) as node_id, coalesce(v.text_id, t.text_id) as text_id,
                coalesce(v.corpus_id, t.corpus_id) as corpus_id, coalesce(v.doc_path, t.doc_path) as doc_path,
                v.similarity, v.place as vector_place, t.score, t.place as text_place
            from v full join (select * from t where t.node_id is not null) as t on v.node_id = t.node_id
        ), candidates as materialized (
            select b.node_id, b.corpus_id, coalesce(b.doc_path, b.node_id::text) as document, b.vector_place, b.text_place,
                coalesce(b.similarity, far.similarity) as similarity,
                coalesce(b.score, beside.score, 0) as text_score
            from both_sides as b
            left join tree_builder.similarities(
                query, scope.model_id, array(select b.text_id from both_sides as b where b.similarity is null)
            ) as far on b.text_id = far.text_id
            left join (
                select t.text_id, max(t.score) as score from t where t.node_id is null group by t.text_id
            ) as beside on b.text_id = beside.text_id
        ), fused as (
            select c.*,
                case fusion
                    when 'ranks' then coalesce(1.0 / (60 + c.vector_place), 0) + coalesce(1.0 / (60 + c.text_place), 0)
                    else coalesce((c.similarity - avg(c.similarity) over ()) / nullif(stddev_pop(c.similarity) over (), 0), 0)
                        + 1.5
                        * coalesce((c.text_score - avg(c.text_score) over ()) / nullif(stddev_pop(c.text_score) over (), 0), 0)
                end::double precision as score
            from candidates as c
        ), placed as (
            select f.*, min(f.score) over () as least,
                row_number() over (
                    partition by f.corpus_id, f.document order by f.score desc, f.similarity desc, f.node_id
                ) as nth
            from fused as f
        ), weighed as (
            -- A document of several good passages is likelier the one which is meant: the mean of its best three counts by half,
            -- a missing one as the worst of all. Each further passage of it counts a little less, so that others have a place:
            -- the less the words of the query tell which document is meant, the more.
            select p.*,
                case fusion
                    when 'ranks' then p.score
                    else p.score - least(0.75, 3 / nullif(max(p.text_score) over (), 0)) * (p.nth - 1)
                        + 0.5 / 3 * (
                            sum(p.score) filter (where p.nth <= 3) over document
                            + p.least * greatest(3 - count(*) over document, 0)
                        )
                end as final
            from placed as p
            window document as (partition by p.corpus_id, p.document)
        )
        select tree_builder.bare_hit(
            (row_number() over (order by w.final desc, w.similarity desc, w.node_id))::integer,
            w.final, w.similarity, w.vector_place, w.text_score, w.text_place, w.node_id
        )
        from weighed as w
    );
end
$$;
comment on function tree_builder.search_fused(text, vector, integer, integer, tree_builder.search_scope, text) is
'The candidates of both searches, each with both scores, fused: by scores (each standardized over the candidates, then '
'added, words one and a half times, with the document''s best passages) or by ranks (reciprocal, 60).';

create or replace function tree_builder.vector_dimensions(query vector)
returns integer
language plpgsql stable
set search_path = pg_catalog
as $$
declare
    dimensions integer;
    norm double precision;
begin
    execute format('select %1$I.vector_dims($1), %1$I.vector_norm($1)', tree_builder.vector_schema())
    into dimensions, norm using query;
    if norm = 0 then
        raise exception 'the query vector is zero: it is near to nothing' using errcode = 'data_exception';
    end if;
    return dimensions;
end
$$;
comment on function tree_builder.vector_dimensions(vector) is 'The number of dimensions of a query vector; a zero vector is an error.';

create or replace function tree_builder.search(
    words text default null,
    query vector default null,
    k integer default 10,
    corpus text default null,
    directory text default null,
    document text default null,
    node_types text [] default null,
    min_level integer default null,
    max_level integer default null,
    first_page integer default null,
    last_page integer default null,
    since timestamptz default null,
    before timestamptz default null,
    min_score double precision default null,
    skip integer default 0,
    fusion text default 'scores',
    model text default null
)
returns setof tree_builder.search_hit
language plpgsql stable
set search_path = pg_catalog
set jit = off
set enable_seqscan = off -- whatever the planner thinks of a filter: no search reads a whole table where an index can tell
rows 10
as $$
declare
    scope tree_builder.search_scope := tree_builder.search_scope(
        search.corpus, search.directory, search.document, search.node_types, search.min_level, search.max_level,
        search.first_page, search.last_page, search.since, search.before
    );
    want integer;
    dimensions integer;
    hits tree_builder.search_hit [];
begin
    if k is null or k not between 1 and 1000 then
        raise exception 'k = %: it must be 1 to 1000', k using errcode = 'invalid_parameter_value';
    elsif skip is null or skip not between 0 and 100000 then
        raise exception 'skip = %: it must be 0 to 100000', skip using errcode = 'invalid_parameter_value';
    elsif fusion is null or fusion not in ('scores', 'ranks') then
        raise exception 'fusion = %: it must be scores or ranks', quote_nullable(fusion)
            using errcode = 'invalid_parameter_value';
    end if;
    want := k + skip;
    if query is not null then
        dimensions := tree_builder.vector_dimensions(query);
        scope.model_id := tree_builder.vector_model(dimensions, corpus, model);
    end if;
    if query is not null and words is not null then
        hits := tree_builder.search_fused(words, query, dimensions, greatest(50, 2 * want), scope, fusion);
    elsif query is not null then
        hits := array(
            select tree_builder.bare_hit(h.place, h.similarity, h.similarity, h.place, null, null, h.node_id)
            from tree_builder.vector_hits(query, want, scope, dimensions) as h
        );
    elsif words is not null then
        hits := array(
            select tree_builder.bare_hit(h.place, h.score, null, null, h.score, h.place, h.node_id)
            from tree_builder.text_hits(words, want, scope) as h
        );
    end if;
    return query
    select r.* from tree_builder.search_rows(array(
        select h::tree_builder.search_hit
        from unnest(hits) as h
        where h.place > skip and h.place <= want and (min_score is null or h.score >= min_score)
    )) as r;
end
$$;
comment on function tree_builder.search(
    text, vector, integer, text, text, text, text [], integer, integer, integer, integer, timestamptz, timestamptz,
    double precision, integer, text, text
) is
'The k best hits over all levels of the tree, for words, for a query vector, or for both. Filters are joined with AND; null is no filter.';

create or replace function tree_builder.search_vector(
    query vector,
    k integer default 10,
    corpus text default null,
    directory text default null,
    document text default null,
    node_types text [] default null,
    min_level integer default null,
    max_level integer default null,
    first_page integer default null,
    last_page integer default null,
    since timestamptz default null,
    before timestamptz default null,
    min_score double precision default null,
    skip integer default 0,
    model text default null
)
returns setof tree_builder.search_hit
language sql stable
set search_path = pg_catalog
rows 10
as $$
    select *
    from tree_builder.search(null, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'scores', $15)
$$;
comment on function tree_builder.search_vector(
    vector, integer, text, text, text, text [], integer, integer, integer, integer, timestamptz, timestamptz,
    double precision, integer, text
) is 'The k nearest nodes to a vector by cosine. The vector must be of the model of the corpus.';

create or replace function tree_builder.search_text(
    words text,
    k integer default 10,
    corpus text default null,
    directory text default null,
    document text default null,
    node_types text [] default null,
    min_level integer default null,
    max_level integer default null,
    first_page integer default null,
    last_page integer default null,
    since timestamptz default null,
    before timestamptz default null,
    min_score double precision default null,
    skip integer default 0
)
returns setof tree_builder.search_hit
language sql stable
set search_path = pg_catalog
rows 10
as $$
    select *
    from tree_builder.search($1, null, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
$$;
comment on function tree_builder.search_text(
    text, integer, text, text, text, text [], integer, integer, integer, integer, timestamptz, timestamptz,
    double precision, integer
) is 'The k nodes whose words fit best. "Phrases in quotes" must be there, -excluded words must not; other words count by their rarity.';

create or replace function tree_builder.similar(
    node uuid,
    k integer default 10,
    corpus text default null,
    directory text default null,
    document text default null,
    node_types text [] default null,
    min_score double precision default null
)
returns setof tree_builder.search_hit
language plpgsql stable
set search_path = pg_catalog
rows 10
as $$
declare
    asked record;
begin
    select n.text_id, n.corpus, n.model_id, v.embedding, m.model
    into asked
    from tree_builder.published_node as n
    inner join tree_builder.vectors as v on n.model_id = v.model_id and n.text_id = v.text_id
    inner join tree_builder.embedding_models as m on n.model_id = m.model_id
    where n.node_id = $1;
    if not found then
        return;
    end if;
    -- One more is asked for, since the nearest text is the node's own.
    return query
    select
        (row_number() over near)::integer, h.score, h.similarity, (row_number() over near)::integer, h.text_score, h.text_place,
        h.node_id, h.corpus, h.node_type, h.level, h.parent_id, h.position, h.doc_path, h.dir_path, h.title, h.language,
        h.content, h.char_start, h.char_end, h.page_start, h.page_end, h.run_id
    from tree_builder.search(
        null, asked.embedding, least(k + 20, 1000), $3, $4, $5, $6,
        null, null, null, null, null, null, $7, 0, 'scores', asked.model
    ) as h
    inner join tree_builder.published_node as n on h.node_id = n.node_id
    where n.text_id <> asked.text_id
    window near as (order by h.place)
    order by h.place
    limit k;
end
$$;
comment on function tree_builder.similar(uuid, integer, text, text, text, text [], double precision) is
'The k nodes nearest to a node, itself and what has the same content left out; over all corpora of the same model unless told otherwise.';
