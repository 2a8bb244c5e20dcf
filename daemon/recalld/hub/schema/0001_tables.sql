-- One database serves any number of orgs; each big table is split by org.
--
-- A stream is a text: 'user:<member>', 'org', or 'project:<identity>'. Within an org, seq counts every change up.
-- Whoever writes holds the org's row until the commit, so seqs become visible in their order, and a reader who
-- continues behind the last seq it saw misses nothing. (A sequence would let a later number commit first.)

-- serves: the version whose programs are the oldest that this one still serves.
create table recalld.migrations (
  version integer primary key,
  serves integer not null,
  name text not null,
  program text not null,
  applied_at timestamptz not null default now()
);

create table recalld.orgs (
  org_id uuid primary key default gen_random_uuid(),
  name text not null unique check (name ~ '^[^[:cntrl:]/:]{1,100}$'),
  seq bigint not null default 0,
  created_at timestamptz not null default now()
);

-- seal_check: tells a device of this member whether its key is the right one; null while nothing is sealed.
create table recalld.members (
  member_id uuid primary key default gen_random_uuid(),
  org_id uuid not null references recalld.orgs,
  name text not null check (name ~ '^[^[:cntrl:]/:]{1,100}$'),
  role text not null check (role in ('member', 'maintainer', 'owner')),
  pg_role name not null unique,
  seal_check bytea check (octet_length(seal_check) <= 1024),
  joined_at timestamptz not null default now(),
  removed_at timestamptz
);
create unique index members_by_name on recalld.members (org_id, name) where removed_at is null;

create table recalld.devices (
  device_id uuid primary key,
  org_id uuid not null references recalld.orgs,
  member_id uuid not null references recalld.members,
  name text not null check (name ~ '^[^[:cntrl:]/:]{1,100}$'),
  joined_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  left_at timestamptz
);
create index devices_by_member on recalld.devices (member_id);

-- Which device follows which project; a member may see what one of his devices follows.
create table recalld.project_shares (
  org_id uuid not null references recalld.orgs,
  stream text not null check (stream ~ '^project:(remote|name):[^[:cntrl:]]+$' and length(stream) <= 1000),
  member_id uuid not null references recalld.members,
  device_id uuid not null references recalld.devices,
  since timestamptz not null default now(),
  primary key (device_id, stream)
);
create index project_shares_by_member on recalld.project_shares (member_id);

-- The last state of each memory. owner: who pushed it first. stream: null once it was withdrawn; the row stays, so
-- that nobody else takes its id. body or sealed: null in a deleted or withdrawn one.
create table recalld.memories (
  org_id uuid not null,
  id text collate "C" not null check (id ~ '^m-[0-9a-f]{20}$'),
  stream text collate "C" check (stream ~ '^(org|user:[0-9a-f-]{36}|project:(remote|name):[^[:cntrl:]]+)$'),
  owner uuid not null,
  seq bigint not null,
  version bigint not null,
  deleted boolean not null default false,
  body jsonb,
  sealed bytea,
  digest bytea not null,
  member_id uuid not null,
  device_id uuid not null,
  client text not null,
  changed_at timestamptz not null default now(),
  primary key (org_id, id)
) partition by hash (org_id);
create index memories_by_stream on recalld.memories (org_id, stream, seq);

-- A memory that left a stream: whoever follows the stream drops his copy. owner: as the memory's.
create table recalld.withdrawals (
  org_id uuid not null,
  stream text collate "C" not null,
  id text collate "C" not null,
  owner uuid not null,
  seq bigint not null,
  primary key (org_id, stream, id)
) partition by hash (org_id);
create index withdrawals_by_stream on recalld.withdrawals (org_id, stream, seq);

-- History and audit. body: the steps of a push as JSON, or sealed; gone once the memory is deleted or withdrawn, or
-- they are old, see `shorten`.
create table recalld.events (
  org_id uuid not null,
  seq bigint not null,
  at timestamptz not null default now(),
  member_id uuid not null,
  device_id uuid,
  client text not null default '',
  action text not null check (action in ('push', 'delete', 'withdraw', 'share', 'unshare', 'join', 'leave',
                                         'member-add', 'member-remove', 'member-role', 'rotate', 'seal', 'erase')),
  stream text collate "C",
  id text collate "C",
  version bigint,
  about text,
  body jsonb,
  sealed bytea,
  primary key (org_id, seq)
) partition by hash (org_id);
create index events_by_memory on recalld.events (org_id, id, seq);

do $$
begin
  for part in 0..15 loop
    execute format('create table recalld.memories_%s partition of recalld.memories
                    for values with (modulus 16, remainder %s)', part, part);
    execute format('create table recalld.withdrawals_%s partition of recalld.withdrawals
                    for values with (modulus 16, remainder %s)', part, part);
    execute format('create table recalld.events_%s partition of recalld.events
                    for values with (modulus 16, remainder %s)', part, part);
  end loop;
end $$;

-- What a device copies in before it calls push. COPY refuses tables with row-level security, so this one has none:
-- members may only add to it, never read, and pg_role says whose a row is, which nobody can set.
create unlogged table recalld.incoming (
  batch uuid not null,
  n integer not null,
  item jsonb not null check (octet_length(item::text) <= 1048576),
  pg_role name not null default session_user
);
create index incoming_by_batch on recalld.incoming (pg_role, batch);
