-- The text search configuration of a language. Re-runnable.

create or replace function tree_builder.text_config(language text)
returns regconfig
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    -- Only configurations which PostgreSQL 15 has; else the same text would have other words on a newer server.
    select case lower(split_part(split_part(language, '-', 1), '_', 1))
        when 'ar' then 'pg_catalog.arabic' when 'ca' then 'pg_catalog.catalan' when 'da' then 'pg_catalog.danish'
        when 'de' then 'pg_catalog.german' when 'el' then 'pg_catalog.greek' when 'en' then 'pg_catalog.english'
        when 'es' then 'pg_catalog.spanish' when 'eu' then 'pg_catalog.basque' when 'fi' then 'pg_catalog.finnish'
        when 'fr' then 'pg_catalog.french' when 'ga' then 'pg_catalog.irish' when 'hi' then 'pg_catalog.hindi'
        when 'hu' then 'pg_catalog.hungarian' when 'hy' then 'pg_catalog.armenian' when 'id' then 'pg_catalog.indonesian'
        when 'it' then 'pg_catalog.italian' when 'lt' then 'pg_catalog.lithuanian' when 'ne' then 'pg_catalog.nepali'
        when 'nl' then 'pg_catalog.dutch' when 'nb' then 'pg_catalog.norwegian' when 'nn' then 'pg_catalog.norwegian'
        when 'no' then 'pg_catalog.norwegian' when 'pt' then 'pg_catalog.portuguese' when 'ro' then 'pg_catalog.romanian'
        when 'ru' then 'pg_catalog.russian' when 'sr' then 'pg_catalog.serbian' when 'sv' then 'pg_catalog.swedish'
        when 'ta' then 'pg_catalog.tamil' when 'tr' then 'pg_catalog.turkish' when 'yi' then 'pg_catalog.yiddish'
        else 'pg_catalog.simple'
    end::regconfig
$$;
comment on function tree_builder.text_config(text) is
'The text search configuration for a language (ISO 639-1); simple where PostgreSQL has none, or the language is unknown.';
