-- The laws, as questions to the database: each gives how often it is broken in a corpus's published tree, with examples.

-- name: documents_without_one_top
-- Law 1: each document with a tree has exactly one doc_top, and no other document has nodes.
with tops as (
    select n.doc_path, count(*) filter (where n.node_type = 'doc_top') as n_tops
    from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    where
        n.corpus_id = :corpus_id and n.doc_path is not null
        and n.since_run <= c.published_run and n.until_run > c.published_run
    group by n.doc_path
), broken as (
    select coalesce(d.doc_path, t.doc_path) as place
    from (
        select doc_path from tree_builder.documents where corpus_id = :corpus_id and grown_hash is not null
    ) as d
    full join tops as t on d.doc_path = t.doc_path
    where d.doc_path is null or t.n_tops is distinct from 1
)
select count(*) as broken, (array_agg(place order by place))[1:1000] as examples from broken;

-- name: directories_without_one_top
-- Law 1: each directory above a document has exactly one dir_top, the corpus folder exactly one root.
with recursive placed as (
    select n.* from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    where
        n.corpus_id = :corpus_id and n.since_run <= c.published_run and n.until_run > c.published_run
), above as (
    select distinct p.dir_path from placed as p where p.node_type = 'doc_top'
    union
    select case when a.dir_path ~ '/' then regexp_replace(a.dir_path, '/[^/]*$', '') else '.' end
    from above as a
    where a.dir_path <> '.'
), tops as (
    select p.dir_path, count(*) as n_tops
    from placed as p
    where p.node_type in ('dir_top', 'root') and (p.node_type = 'root') = (p.dir_path = '.')
    group by p.dir_path
), wrong as (
    select p.dir_path from placed as p
    where p.node_type in ('dir_top', 'root') and (p.node_type = 'root') <> (p.dir_path = '.')
), broken as (
    select coalesce(a.dir_path, t.dir_path) as place
    from above as a
    full join tops as t on a.dir_path = t.dir_path
    where a.dir_path is null or t.n_tops is distinct from 1
    union
    select w.dir_path from wrong as w
)
select count(*) as broken, (array_agg(place order by place))[1:1000] as examples from broken;

-- name: nodes_without_parent
-- Law 2: each node but the root has a parent in the same tree, of a higher level; the root has none.
with placed as (
    select n.* from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    where
        n.corpus_id = :corpus_id and n.since_run <= c.published_run and n.until_run > c.published_run
), broken as (
    select n.node_id
    from placed as n
    left join placed as p on n.parent_id = p.node_id
    where
        case
            when n.node_type = 'root' then n.parent_id is not null
            else p.node_id is null or p.level <= n.level
                or (n.doc_path is not null and p.doc_path is distinct from n.doc_path and n.node_type <> 'doc_top')
        end
)
select count(*) as broken, (array_agg(node_id ::text order by node_id))[1:1000] as examples from broken;

-- name: nodes_with_wrong_children
-- Law 2: children have the positions 0, 1, 2, ... in the order of their text; a node's level is one more than its highest child's.
with placed as (
    select n.* from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    where
        n.corpus_id = :corpus_id and n.since_run <= c.published_run and n.until_run > c.published_run
), numbered as (
    select
        p.parent_id, p.level, p.position, p.char_start, p.char_end,
        row_number() over (partition by p.parent_id order by p.position) - 1 as expected,
        lag(p.char_end) over (partition by p.parent_id order by p.position) as previous_end,
        lag(p.char_start) over (partition by p.parent_id order by p.position) as previous_start
    from placed as p
    where p.parent_id is not null
), families as (
    select
        n.parent_id, max(n.level) as highest,
        bool_or(n.position <> n.expected) as misplaced,
        bool_or(n.char_start < n.previous_start or n.char_start > n.previous_end) as apart,
        min(n.char_start) as char_start, max(n.char_end) as char_end
    from numbered as n
    group by n.parent_id
), broken as (
    select p.node_id
    from placed as p
    left join families as f on p.node_id = f.parent_id
    where
        case
            when p.node_type = 'chunk' then f.parent_id is not null or p.level <> 0
            else f.parent_id is null or f.misplaced or p.level <> f.highest + 1
                or (
                    p.doc_path is not null
                    and (f.apart or (p.char_start, p.char_end) is distinct from (f.char_start, f.char_end))
                )
        end
)
select count(*) as broken, (array_agg(node_id ::text order by node_id))[1:1000] as examples from broken;

-- name: documents_with_gaps
-- Law 2: a document's chunks, overlaps removed, follow each other without gap from its first to its last character.
with chunks as (
    select
        n.doc_path, n.char_start, n.char_end, n.overlap, length(t.content) as size,
        lag(n.char_end) over (partition by n.doc_path order by n.char_start) as previous_end
    from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    inner join tree_builder.texts as t on n.text_id = t.text_id
    where
        n.corpus_id = :corpus_id and n.node_type = 'chunk'
        and n.since_run <= c.published_run and n.until_run > c.published_run
), broken as (
    select k.doc_path from chunks as k
    where
        k.char_end - k.char_start <> k.size
        or k.char_start + k.overlap <> coalesce(k.previous_end, k.char_start + k.overlap)
    union
    select d.doc_path
    from tree_builder.documents as d
    left join (select k.doc_path, count(*) as n_chunks from chunks as k group by k.doc_path) as s
        on d.doc_path = s.doc_path
    where
        d.corpus_id = :corpus_id and d.grown_hash is not null and not d.stale
        and d.n_chunks is distinct from s.n_chunks
)
select count(*) as broken, (array_agg(doc_path order by doc_path))[1:1000] as examples from broken;

-- name: nodes_without_text
-- Each node has its text, which is not empty and whose hash is its id.
with broken as (
    select n.node_id
    from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    left join tree_builder.texts as t on n.text_id = t.text_id
    where
        n.corpus_id = :corpus_id and n.since_run <= c.published_run and n.until_run > c.published_run
        and (
            t.text_id is null or t.content !~ '\S'
            or substring(sha256(convert_to(t.content, 'UTF8')) from 1 for 16)
            <> decode(replace(n.text_id ::text, '-', ''), 'hex')
        )
)
select count(*) as broken, (array_agg(node_id ::text order by node_id))[1:1000] as examples from broken;

-- name: nodes_without_vector
-- Each node has a vector of the corpus's model and dimension, which is neither zero nor broken, and is in the index.
with broken as (
    select n.node_id
    from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    left join tree_builder.embedding_models as m on c.model_id = m.model_id
    left join tree_builder.vectors as v on n.text_id = v.text_id and c.model_id = v.model_id
    where
        n.corpus_id = :corpus_id and n.since_run <= c.published_run and n.until_run > c.published_run
        and (
            v.text_id is null or not v.indexed or vector_dims(v.embedding) <> m.dimensions
            or vector_norm(v.embedding) not between 0.5 and 2.0
        )
)
select count(*) as broken, (array_agg(node_id ::text order by node_id))[1:1000] as examples from broken;

-- name: vector_index_missing
-- The model's vector index is there, and whole.
with broken as (
    select 'vectors_' || c.model_id ::text || '_idx' as place
    from tree_builder.corpora as c
    where
        c.corpus_id = :corpus_id and c.model_id is not null
        and not exists (
            select 1
            from pg_catalog.pg_class as k
            inner join pg_catalog.pg_index as i on k.oid = i.indexrelid
            inner join pg_catalog.pg_namespace as s on k.relnamespace = s.oid
            where s.nspname = 'tree_builder' and k.relname = 'vectors_' || c.model_id ::text || '_idx' and i.indisvalid
        )
)
select count(*) as broken, (array_agg(place))[1:1000] as examples from broken;

-- name: leftovers_of_dead_runs
-- No run which did not publish has left rows, unless it is under way.
with broken as (
    select n.node_id
    from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    where
        n.corpus_id = :corpus_id
        and (
            n.since_run > coalesce(c.published_run, 0)
            or (n.until_run > coalesce(c.published_run, 0) and n.until_run < 9223372036854775807)
        )
        and not exists (
            select 1 from tree_builder.runs as r where r.corpus_id = n.corpus_id and r.state = 'running'
        )
)
select count(*) as broken, (array_agg(node_id ::text order by node_id))[1:1000] as examples from broken;

-- name: runs_off_the_ledger
-- What a run reports to have spent on a language model is what its kept answers cost, or more: failures are not kept.
with spent as (
    select m.run_id, sum(m.input_tokens + m.output_tokens) as tokens
    from tree_builder.memo as m
    where m.run_id is not null
    group by m.run_id
), broken as (
    select r.run_id ::text as place
    from tree_builder.runs as r
    inner join spent as s on r.run_id = s.run_id
    where
        r.corpus_id = :corpus_id and r.state = 'published'
        and s.tokens > coalesce((r.report -> 'tokens' ->> 'input') ::bigint, 0)
        + coalesce((r.report -> 'tokens' ->> 'output') ::bigint, 0)
)
select count(*) as broken, (array_agg(place order by place))[1:1000] as examples from broken;

-- name: nodes_with_wrong_body
-- Law 3: a node's body is the hash of its type, its children's bodies in order, and its content.
with placed as (
    select n.* from tree_builder.node as n
    inner join tree_builder.corpora as c on n.corpus_id = c.corpus_id
    where
        n.corpus_id = :corpus_id and n.since_run <= c.published_run and n.until_run > c.published_run
), families as (
    select
        p.parent_id, count(*) as n_children, string_agg(p.body, '' ::bytea order by p.position) as bodies
    from placed as p
    where p.parent_id is not null
    group by p.parent_id
), broken as (
    select p.node_id
    from placed as p
    inner join tree_builder.texts as t on p.text_id = t.text_id
    left join families as f on p.node_id = f.parent_id
    where
        p.body <> sha256(
            convert_to(p.node_type, 'UTF8') || '\x00' ::bytea
            || convert_to(coalesce(f.n_children, 0) ::text, 'UTF8') || '\x00' ::bytea
            || coalesce(f.bodies, '' ::bytea) || convert_to(t.content, 'UTF8')
        )
)
select count(*) as broken, (array_agg(node_id ::text order by node_id))[1:1000] as examples from broken;

-- name: mark_for_rebuilding
-- Let the next run read and grow these documents, and the directories above them, anew.
update tree_builder.documents set recipe = null, mtime_ns = 0
where corpus_id = :corpus_id and doc_path = any(:doc_paths);

-- name: paths_of_nodes
-- Documents to build anew so that these nodes are made again: a node's own, or the first below its directory.
select distinct coalesce(
    n.doc_path,
    (
        select min(d.doc_path) from tree_builder.documents as d
        where
            d.corpus_id = n.corpus_id and d.grown_hash is not null
            and (n.dir_path = '.' or starts_with(d.doc_path, n.dir_path || '/'))
    )
) as doc_path
from tree_builder.node as n
where n.corpus_id = :corpus_id and n.node_id = any(:node_ids ::uuid []);
