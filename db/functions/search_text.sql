-- Search by words: which terms a query asks for, which texts may have them, and how well those fit. Re-runnable.
--
-- Terms are joined with OR, since no passage holds all words of a question, and weighed by their rarity (BM25's idf).
-- ts_rank of a single word stands in for BM25's word frequency: it grows with the occurrences and levels off alike.

create or replace function tree_builder.text_configs()
returns regconfig []
language sql stable
set search_path = pg_catalog
as $$
    -- Walks from one language to the next in the index, instead of reading every document.
    with recursive languages as (
        (select d.language from tree_builder.documents as d where d.language is not null order by d.language limit 1)
        union all
        select (
            select d.language from tree_builder.documents as d
            where d.language > l.language order by d.language limit 1
        )
        from languages as l
        where l.language is not null
    )
    select array(
        select distinct tree_builder.text_config(l.language) from languages as l where l.language is not null
        union
        select 'pg_catalog.simple'::regconfig
    )
$$;
comment on function tree_builder.text_configs() is 'The text search configurations of the documents which there are, simple among them.';

create or replace function tree_builder.text_terms(words text)
returns table (term tsquery, lexemes text [])
language sql stable
set search_path = pg_catalog
set client_min_messages = warning -- a stop word is not worth a notice
as $$
    with configs as materialized (
        select c.config, c.config <> 'pg_catalog.simple'::regconfig as stems
        from unnest(tree_builder.text_configs()) as c (config)
    ), tokens as (
        select t.token, min(t.place) as place
        from regexp_split_to_table(
            -- What is excluded is no term to look for.
            left(regexp_replace($1, '(^|\s)-("[^"]*"|\S+)', ' ', 'g'), 4000), '\s+'
        ) with ordinality as t (token, place)
        where t.token <> ''
        group by t.token
    ), parsed as (
        select t.place, c.stems, to_tsvector(c.config, t.token) as vector, plainto_tsquery(c.config, t.token) as query
        from tokens as t
        cross join configs as c
    ), kept as (
        select p.place, p.vector, p.query
        from parsed as p
        where
            numnode(p.query) > 0
            -- A word which every language at hand stops is not looked for in texts without a language either.
            and (
                p.stems
                or not exists (select 1 from configs as c where c.stems)
                or exists (select 1 from parsed as s where s.place = p.place and s.stems and numnode(s.query) > 0)
            )
    ), terms as (
        select
            k.place,
            string_agg(distinct '(' || k.query::text || ')', ' | ')::tsquery as term,
            array_agg(distinct l.lexeme) as lexemes
        from kept as k
        cross join lateral unnest(tsvector_to_array(k.vector)) as l (lexeme)
        group by k.place
    )
    select t.term, t.lexemes
    from terms as t
    group by t.term, t.lexemes
    order by min(t.place)
    limit 64
$$;
comment on function tree_builder.text_terms(text) is
'The words of a query as terms, parsed for every language of the documents; stop words and excluded words are left out.';

create or replace function tree_builder.text_requirement(words text)
returns tsquery
language sql stable
set search_path = pg_catalog
set client_min_messages = warning -- a stop word is not worth a notice
as $$
    with parts as (
        select
            m.match[1] = '-' as excluded,
            array_agg(phraseto_tsquery(c.config, coalesce(m.match[2], m.match[3]))) as queries
        from regexp_matches($1, '(?:^|\s)(-?)(?:"([^"]*)"|(\S+))', 'g') with ordinality as m (match, place)
        cross join unnest(tree_builder.text_configs()) as c (config)
        where m.match[1] = '-' or m.match[2] is not null
        group by m.place, m.match
    ), whole as (
        select case when p.excluded then '!(' || q.query || ')' else '(' || q.query || ')' end as clause
        from parts as p
        cross join lateral (
            select string_agg('(' || u.query::text || ')', ' | ') as query
            from unnest(p.queries) as u (query) where numnode(u.query) > 0
        ) as q
        where q.query is not null
    )
    select string_agg(w.clause, ' & ')::tsquery from whole as w
$$;
comment on function tree_builder.text_requirement(text) is
'What a query demands beyond its words: "phrases in quotes" must be there, -excluded words must not. Null when it demands nothing.';

drop function if exists tree_builder.text_plan(text);

create or replace function tree_builder.text_plan(
    words text, want integer,
    out terms tsquery [], out n_texts double precision [], out source tsquery, out narrow tsquery, out requirement tsquery
)
language plpgsql stable
set search_path = pg_catalog
as $$
declare
    -- So many texts are ranked without anybody waiting; terms more common than that bring no text up.
    many constant double precision := 1000;
    -- Where rarer terms bring up enough, a text with one of the others and no second one is hardly among the best.
    enough constant double precision := greatest(250, 5 * want);
begin
    requirement := tree_builder.text_requirement(words);
    with found as materialized (
        select t.term, t.lexemes, t.place
        from tree_builder.text_terms(words) with ordinality as t (term, lexemes, place)
    ), statistics as materialized (
        -- The server's own statistics know the common words, and of these the share of the rarest; others are rarer.
        select s.most_common_elems::text::text [] as elems, s.most_common_elem_freqs as shares
        from pg_stats as s
        where s.schemaname = 'tree_builder' and s.tablename = 'texts' and s.attname = 'words'
    ), counted as (
        select
            f.term, f.place,
            c.reltuples * coalesce(
                (select sum(s.shares[array_position(s.elems, l.lexeme)]) from unnest(f.lexemes) as l (lexeme)),
                s.shares[cardinality(s.elems) + 1] / 4
            ) as n_texts
        from found as f
        left join statistics as s on true
        left join pg_class as c on c.oid = 'tree_builder.texts'::regclass and c.reltuples > 0
    ), summed as (
        select c.*, sum(coalesce(c.n_texts, 0)) over (order by c.n_texts, c.place) as up_to,
            row_number() over (order by c.n_texts, c.place) as rarity
        from counted as c
    )
    select
        array_agg(s.term order by s.rarity), array_agg(s.n_texts order by s.rarity),
        string_agg(s.clause, ' | ') filter (where s.up_to <= many),
        string_agg(s.clause || case when s.up_to - coalesce(s.n_texts, 0) < enough then '' else s.with_commoner end, ' | ')
        filter (where s.up_to <= many)
        into text_plan.terms, text_plan.n_texts, source, narrow
    from (
        select u.*,
            '(' || u.term::text || ')' as clause,
            coalesce(
                ' & (' || string_agg('(' || u.term::text || ')', ' | ') over (
                    order by u.rarity rows between 1 following and unbounded following
                ) || ')', ''
            ) as with_commoner
        from summed as u where u.rarity <= 24
    ) as s;
    if source is null and cardinality(terms) > 1 then
        -- Common words only: a text must have the rarest of them together with another.
        source := terms[1] && (
            select string_agg('(' || t.term::text || ')', ' | ')::tsquery from unnest(terms[2:]) as t (term)
        );
    elsif source is null then
        source := terms[1];
    end if;
    -- A query of quotes alone has no rare term to start from, but the quotes themselves.
    if source is not null and requirement is not null then
        source := source && requirement;
        narrow := narrow && requirement;
    end if;
    narrow := nullif(narrow, source);
end
$$;
comment on function tree_builder.text_plan(text, integer) is
'How a query is looked for: its terms, the rarest first, about how many texts have each (null: unknown); what brings a text up; what '
'brings up fewer which are likely enough for so many hits, null where that is the same; what a text must meet.';

drop function if exists tree_builder.text_hits(text, integer, tree_builder.search_scope, uuid []);

create or replace function tree_builder.text_hits(
    words text, want integer, scope tree_builder.search_scope, also uuid [] default '{}'
)
returns table (
    node_id uuid, text_id uuid, score double precision, place integer, corpus_id integer, doc_path text
)
language plpgsql stable
set search_path = pg_catalog
set jit = off
as $$
declare
    few constant integer := 4000;
    most integer := 1200;
    plan record;
    sample uuid [];
    condition text := 't.words @@ $3';
    sources tsquery [];
    source tsquery;
    texts uuid [];
    scores double precision [];
begin
    plan := tree_builder.text_plan(words, want);
    if plan.source is null then
        return;
    end if;
    sources := array[plan.source];
    if tree_builder.is_limited(scope) or row_security_active('tree_builder.node') then
        sample := tree_builder.search_sample(scope, few);
    end if;
    if sample is null and row_security_active('tree_builder.node') then
        -- The index cannot be used below a policy, since a match is an operator which might tell of hidden rows.
        sample := tree_builder.readable_texts(words, want, most);
    end if;
    if sample is not null then
        most := cardinality(sample);
        condition := 't.text_id = any($4) and t.words @@ any($2) and ($5 is null or t.words @@ $5)';
    elsif plan.narrow is not null and tree_builder.is_corpus_only(scope) then
        sources := array[plan.narrow, plan.source];
    end if;
    foreach source in array sources loop
        execute tree_builder.text_statement(condition, cardinality(plan.terms)) into texts, scores
            using most, plan.terms, source, sample, plan.requirement, plan.n_texts, also;
        return query
        with h as materialized (select n.* from tree_builder.text_nodes(texts, want, scope) as n)
        select h.node_id, h.text_id, scores[h.nth],
            row_number() over (order by scores[h.nth] desc, h.doc_path, h.level, h.node_id)::integer,
            h.corpus_id, h.doc_path
        from h
        where source = plan.source or (select count(*) from h) >= want;
        exit when found;
    end loop;
    return query
    select null::uuid, a.text_id, r.score, null::integer, null::integer, null::text
    from unnest(also) as a (text_id)
    inner join unnest(texts, scores) as r (text_id, score) on a.text_id = r.text_id;
end
$$;
comment on function tree_builder.text_hits(text, integer, tree_builder.search_scope, uuid []) is
'The nodes whose words fit a query best; and the scores of some other texts, without node or place. Of texts with '
'common words only, no more than some thousand are looked at.';

create or replace function tree_builder.text_statement(source text, n_terms integer)
returns text
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    -- ts_rank of one word which occurs once is 0.0608; a text of twice the usual number of words counts a quarter less.
    select format($statement$
        with ranked as materialized (
            (select t.text_id, length(t.words)::double precision as n_words, %2$s from tree_builder.texts as t where %1$s limit $1)
            union all
            (select t.text_id, length(t.words)::double precision, %2$s from tree_builder.texts as t
            where t.text_id = any($7) and (%1$s) is not true)
        ), overall as materialized (
            select avg(r.n_words) as n_words, array[%3$s] as counts,
                greatest(count(*), (select c.reltuples from pg_class as c where c.oid = 'tree_builder.texts'::regclass)) as n
            from ranked as r
        ), weighed as materialized ( -- else the weights would be reckoned anew for every text
            select o.n_words, array(
                select ln(1 + (greatest(o.n - u.n, 0) + 0.5) / (u.n + 0.5))
                from (
                    select x.place, greatest(x.counted, coalesce(x.estimated, 0)) as n
                    from unnest(o.counts, $6) with ordinality as x (counted, estimated, place)
                ) as u order by u.place
            ) as weights
            from overall as o
        ), scored as materialized (
            select r.text_id, (%4$s) / 0.0608 / (0.7::double precision + 0.3::double precision * r.n_words / w.n_words) as score
            from ranked as r cross join weighed as w
        )
        select array_agg(s.text_id order by s.score desc, s.text_id), array_agg(s.score order by s.score desc, s.text_id)
        from scored as s where s.score > 0
    $statement$,
        $1,
        (select string_agg(format('ts_rank(t.words, ($2)[%1$s]) as rank_%1$s', i), ', ') from generate_series(1, n_terms) as i),
        (select string_agg(format('count(*) filter (where r.rank_%s > 0)', i), ', ') from generate_series(1, n_terms) as i),
        (select string_agg(format('r.rank_%1$s * w.weights[%1$s]', i), ' + ') from generate_series(1, n_terms) as i)
    )
$$;
comment on function tree_builder.text_statement(text, integer) is
'The statement which ranks texts for so many terms: the texts and their scores, the best first.';

create or replace function tree_builder.headline(content text, words text, language text default null)
returns text
language plpgsql stable
set search_path = pg_catalog
as $$
declare
    config constant regconfig := tree_builder.text_config(language);
    query tsquery;
begin
    select string_agg('(' || t.term::text || ')', ' | ')::tsquery into query from tree_builder.text_terms(words) as t;
    if query is null then
        return content;
    end if;
    -- Control characters as marks: no text has them, so that nothing in a text can pass for a mark.
    return ts_headline(
        config, translate(content, chr(2) || chr(3), ''), query,
        format('HighlightAll=true, StartSel=%s, StopSel=%s', chr(2), chr(3))
    );
end
$$;
comment on function tree_builder.headline(text, text, text) is
'A text with the words of a query marked: chr(2) before and chr(3) after each.';
