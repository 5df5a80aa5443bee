-- The tables that ringwake.cfg reads and writes: those of Kamailio's module htable.
-- sqlite3 /var/lib/kamailio/ringwake.db < ringwake-tokens.sql
create table if not exists version (table_name text not null primary key, table_version integer not null);
insert or replace into version values ('ringwake_tokens', 2);
create table if not exists ringwake_tokens (
    id integer primary key,
    key_name text not null unique,
    key_type integer not null default 0,
    value_type integer not null default 0,
    key_value text not null,
    expires integer not null default 0
);
