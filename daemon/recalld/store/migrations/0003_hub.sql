-- What is shared with the team's hub, and how far each memory has come there. All of it is empty until `hub join`.

-- What this device shares or takes: `user:<member>`, `org`, `project:<identity>`. announced: the hub knows of `sends`.
-- delete_mine: what the member put there goes when the end of sharing is announced. cursor: up to where it was taken in.
create table hub_streams (
    stream      text primary key,
    project_id  integer references projects on delete set null,
    sends       integer not null check (sends in (0, 1)),
    announced   integer not null check (announced in (0, 1)),
    delete_mine integer not null default 0 check (delete_mine in (0, 1)),
    cursor      integer not null default 0 check (cursor >= 0)
) strict, without rowid;
create index hub_streams_project on hub_streams (project_id) where project_id is not null;

-- A memory as the hub and this device last had it in common. version: the hub's; 0 where it was sent and nothing is
-- known of its arrival. base: what of it is compared, the text as a hash. steps: the last step of its history that the
-- hub knows; null: none, and what happens to it up to the next sending stays here. withdrawn: it left its stream;
-- when all streams were read it is known whether it went into another. own: this member had shared it first.
create table hub_items (
    memory    text primary key,
    stream    text not null,
    version   integer not null default 0 check (version >= 0),
    base      text check (base is null or json_valid(base)),
    steps     integer,
    withdrawn integer not null default 0 check (withdrawn in (0, 1)),
    own       integer not null default 0 check (own in (0, 1))
) strict, without rowid;
create index hub_items_withdrawn on hub_items (memory) where withdrawn = 1;

-- What was about to be sent, noted before it is: so that one's own words are known when they come back.
create table hub_sent (
    memory text not null,
    digest blob not null,
    base   text not null check (json_valid(base)),
    steps  integer,
    primary key (memory, digest)
) strict, without rowid;

-- Memories that changed here. refused: why the hub does not take this one.
create table hub_outbox (
    n       integer primary key autoincrement,
    memory  text not null unique,
    refused text
) strict;

-- Whoever changes a memory, by whatever door. Whether it may leave is decided when it is to be sent.
create trigger hub_inserted after insert on memories when exists (select 1 from hub_streams) begin
    insert into hub_outbox (memory) values (new.id) on conflict (memory) do update set refused = null;
end;

create trigger hub_updated after update of scope, project_id, type, content, tags, aliases, confidence, status, pinned,
    expires_at, superseded_by, local_only, version on memories when exists (select 1 from hub_streams) begin
    insert into hub_outbox (memory) values (new.id) on conflict (memory) do update set refused = null;
end;

create trigger hub_deleted after delete on memories when exists (select 1 from hub_streams) begin
    insert into hub_outbox (memory) values (old.id) on conflict (memory) do update set refused = null;
end;

-- What was said while it was private, or of another place, is no part of what travels later.
create trigger hub_moved after update of scope, project_id, local_only on memories
when old.scope <> new.scope or old.project_id is not new.project_id or old.local_only <> new.local_only begin
    update hub_items set steps = null where memory = new.id;
    update hub_sent set steps = null where memory = new.id;
end;

create trigger hub_conflict_opened after insert on conflicts when exists (select 1 from hub_streams) begin
    insert into hub_outbox (memory) values (new.older), (new.newer) on conflict (memory) do update set refused = null;
end;

create trigger hub_conflict_settled after update of settled_at on conflicts when exists (select 1 from hub_streams) begin
    insert into hub_outbox (memory) values (new.older), (new.newer) on conflict (memory) do update set refused = null;
end;

-- The same sentence under two ids is found by its beginning.
create index memories_by_beginning on memories (scope, project_id, substr(lower(content), 1, 32)) where status = 'active';
