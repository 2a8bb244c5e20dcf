-- The whole model in one place. Times are ISO 8601 UTC text with milliseconds; ids of memories are `m-` + 20 hex.
-- Full-text and vector tables are made by store/search.py, one pair a partition (`user`, `org`, `p<project_id>`):
-- a shared index would count and scan the whole store for one project's question.

create table meta (
    key   text primary key,
    value text not null
) strict, without rowid;

-- Projects -------------------------------------------------------------------------------------------------------

create table projects (
    project_id   integer primary key,
    name         text not null check (name <> ''),
    created_at   text not null,
    last_seen_at text not null
) strict;

-- What a project is known by: a remote (`remote:github.com/acme/shop`), a name given by hand (`name:shop`) or a place.
create table project_identities (
    identity   text primary key,
    project_id integer not null references projects on delete cascade
) strict, without rowid;
create index project_identities_project on project_identities (project_id);

-- Where a project was seen. Device, inode and first_commit tell a moved folder from a copied one.
create table project_places (
    path         text primary key,
    project_id   integer not null references projects on delete cascade,
    device       integer not null,
    inode        integer not null,
    first_commit text,
    last_seen_at text not null
) strict, without rowid;
create index project_places_project on project_places (project_id);
create index project_places_inode on project_places (device, inode);

-- What foreign keys would do, also for whoever deletes a project with plain `sqlite3`, where they are off.
create trigger projects_deleted after delete on projects begin
    delete from project_identities where project_id = old.project_id;
    delete from project_places where project_id = old.project_id;
    update sessions set project_id = null where project_id = old.project_id;
    update turns set project_id = null where project_id = old.project_id;
    delete from memories where project_id = old.project_id;
end;

-- Capture --------------------------------------------------------------------------------------------------------

-- past_offset: how far `import transcripts` has read. imported_at: the session is known from its transcript alone.
create table sessions (
    session_id        text primary key,
    project_id        integer references projects on delete set null,
    cwd               text not null,
    transcript_path   text,
    transcript_offset integer not null default 0 check (transcript_offset >= 0),
    headless          integer not null default 0 check (headless in (0, 1)),
    model             text,
    context_tokens    integer,
    started_at        text not null,
    last_event_at     text not null,
    compacted_at      text,
    ended_at          text,
    summed_up_at      text,
    past_offset       integer not null default 0 check (past_offset >= 0),
    imported_at       text
) strict, without rowid;
create index sessions_project on sessions (project_id, last_event_at);
create index sessions_to_sum_up on sessions (last_event_at) where summed_up_at is null and headless = 0;
create index sessions_transcript on sessions (transcript_path) where transcript_path is not null;

-- One row a user prompt, whatever session, fork or resume it was seen in: prompt_id is Claude Code's own and unique.
create table turns (
    turn_id      integer primary key,
    prompt_id    text not null unique,
    session_id   text not null references sessions on delete cascade,
    project_id   integer references projects on delete set null,
    prompt       text not null,
    answer       text not null default '',
    answers      text not null default '[]' check (json_valid(answers)),
    context      text not null default '',
    state        text not null check (state in ('open', 'ended', 'interrupted')),
    branch       text,
    worktree     text,
    "commit"     text,
    started_at   text not null,
    ended_at     text
) strict;
create index turns_session on turns (session_id, turn_id);
create index turns_open on turns (session_id) where state = 'open';
create index turns_started on turns (started_at);

-- The durable queue. A running job belongs to the daemon run named in `owner`; what the worker finds running between two
-- jobs was broken off, and it takes it back at once, so that no clock decides whether a lease has ended.
create table jobs (
    job_id      integer primary key autoincrement,  -- never used again: what undo takes back is named after it
    kind        text not null check (kind in ('extract', 'embed', 'maintain')),
    key         text not null,
    payload     text not null default '{}' check (json_valid(payload)),
    state       text not null default 'ready' check (state in ('ready', 'running', 'done', 'dead')),
    attempts    integer not null default 0 check (attempts >= 0),
    not_before  text not null,
    owner       text,
    last_error  text,
    created_at  text not null,
    finished_at text,
    unique (kind, key),
    check ((state = 'running') = (owner is not null))
) strict;
create index jobs_ready on jobs (kind, not_before) where state = 'ready';
create index jobs_running on jobs (owner) where state = 'running';

-- A job without its turn could never be done.
create trigger turns_deleted after delete on turns begin
    delete from jobs where kind = 'extract' and key = old.prompt_id and state <> 'done';
end;

-- Memories -------------------------------------------------------------------------------------------------------

create table memories (
    seq            integer primary key autoincrement,  -- never used again: search tables and tombstones go by it
    id             text not null unique check (length(id) = 22 and id glob 'm-*'),
    scope          text not null check (scope in ('user', 'project', 'org')),
    project_id     integer references projects on delete cascade,
    type           text not null check (type in ('fact', 'preference', 'decision', 'lesson', 'progress', 'summary')),
    content        text not null,
    tags           text not null default '[]' check (json_valid(tags)),
    aliases        text not null default '[]' check (json_valid(aliases)),
    source         text not null,
    origin         text not null check (origin in ('user', 'assistant', 'tool', 'import')),
    source_session text,
    confidence     real not null check (confidence between 0 and 1),
    status         text not null check (status in ('active', 'pending', 'superseded', 'archived', 'deleted')),
    pinned         integer not null default 0 check (pinned in (0, 1)),
    hit_count      integer not null default 0 check (hit_count >= 0),
    useful_count   integer not null default 0,
    first_seen     text not null,
    last_seen      text not null,
    last_used      text,
    created_at     text not null,
    updated_at     text not null,
    expires_at     text,
    version        integer not null default 1 check (version >= 1),
    superseded_by  text,
    branch         text,
    worktree       text,
    "commit"       text,
    local_only     integer not null default 0 check (local_only in (0, 1)),
    check ((scope = 'project') = (project_id is not null)),
    check ((status = 'deleted') = (content = ''))
) strict;
create index memories_partition on memories (scope, project_id, status, type);
create index memories_pinned on memories (scope, project_id) where pinned = 1 and status = 'active';
create index memories_pending on memories (scope, project_id) where status = 'pending';
create index memories_useful on memories (scope, project_id, useful_count) where useful_count > 0;
create index memories_session on memories (source_session) where source_session is not null;
create index memories_superseded_by on memories (superseded_by) where superseded_by is not null;

-- Related memories; each pair stands once, the smaller id first.
create table related (
    a text not null references memories (id) on delete cascade,
    b text not null references memories (id) on delete cascade,
    primary key (a, b),
    check (a < b)
) strict, without rowid;
create index related_b on related (b);

-- Two memories that cannot both hold; open while settled_at is null. `older` was there first.
create table conflicts (
    conflict_id integer primary key,
    older       text not null references memories (id) on delete cascade,
    newer       text not null references memories (id) on delete cascade,
    opened_at   text not null,
    settled_at  text,
    kept        text check (kept in ('older', 'newer', 'both')),
    unique (older, newer)
) strict;
create index conflicts_newer on conflicts (newer);

-- The turns a memory was learnt from or said again in.
create table memory_sources (
    memory    text not null references memories (id) on delete cascade,
    prompt_id text not null,
    seen_at   text not null,
    primary key (memory, prompt_id)
) strict, without rowid;
create index memory_sources_prompt on memory_sources (prompt_id);

-- A person is asked once whether a pending memory holds; here stands which ones were asked about.
create table questions (
    memory   text primary key references memories (id) on delete cascade,
    asked_at text not null
) strict, without rowid;

-- Each earlier state of a memory, and what was done to it by whom.
create table history (
    history_id integer primary key,
    memory     text not null references memories (id) on delete cascade,
    version    integer not null,
    action     text not null,
    actor      text not null,
    content    text not null default '',
    type       text not null,
    status     text not null,
    at         text not null,
    batch      text
) strict;
create index history_memory on history (memory, history_id);
create index history_batch on history (batch) where batch is not null;

-- What blocks a deleted memory from being learnt again: a keyed fingerprint of its terms, no text.
create table tombstones (
    memory      text primary key references memories (id) on delete cascade,
    fingerprint blob not null,
    terms       integer not null check (terms >= 0),
    deleted_at  text not null
) strict, without rowid;

-- Every change of a memory, by us or by anyone with sqlite3, waits here until the indexes, history and tombstones
-- follow it. Plain triggers on a plain table: a virtual table here would break the owner's own UPDATE.
create table changes (
    change_id  integer primary key,
    seq        integer not null,
    id         text not null,
    action     text not null check (action in ('insert', 'update', 'delete')),
    scope      text not null,
    project_id integer,
    version    integer not null,
    content    text not null,
    type       text not null,
    status     text not null,
    row        text
) strict;

create trigger memories_identity before update of seq, id on memories when new.seq <> old.seq or new.id <> old.id begin
    select raise(abort, 'the id of a memory cannot change');
end;

create trigger memories_inserted after insert on memories begin
    insert into changes (seq, id, action, scope, project_id, version, content, type, status)
    values (new.seq, new.id, 'insert', new.scope, new.project_id, new.version, '', new.type, new.status);
end;

create trigger memories_updated after update of id, scope, project_id, type, content, tags, aliases, status, version
on memories begin
    insert into changes (seq, id, action, scope, project_id, version, content, type, status)
    values (old.seq, old.id, 'update', old.scope, old.project_id, old.version, old.content, old.type, old.status);
end;

create trigger memories_deleted after delete on memories begin
    insert into changes (seq, id, action, scope, project_id, version, content, type, status, row)
    values (old.seq, old.id, 'delete', old.scope, old.project_id, old.version, old.content, old.type, old.status,
            json_object('source', old.source, 'origin', old.origin, 'first_seen', old.first_seen,
                        'created_at', old.created_at));
end;

-- Which vector a memory has. A model is a row, so that a change of model is seen and worked off.
create table embed_models (
    model_id integer primary key,
    name     text not null unique,
    dim      integer not null check (dim > 0)
) strict;

create table vectors (
    seq      integer primary key,
    model_id integer not null references embed_models
) strict;

-- Injection ------------------------------------------------------------------------------------------------------

create table injections (
    injection_id integer primary key,
    session_id   text not null references sessions on delete cascade,
    project_id   integer,
    prompt_id    text,
    event        text not null check (event in ('SessionStart', 'UserPromptSubmit')),
    query        text not null default '',
    at           text not null,
    tokens       integer not null,
    ms           real not null
) strict;
create index injections_session on injections (session_id, injection_id);
create index injections_at on injections (at);
create index injections_prompt on injections (prompt_id) where prompt_id is not null;

create table injection_items (
    injection_id integer not null references injections on delete cascade,
    rank         integer not null,
    memory       text not null,
    score        real not null,
    similarity   real not null,
    given        integer not null check (given in (0, 1)),
    reason       text not null,
    used         integer check (used in (0, 1)),
    primary key (injection_id, rank)
) strict, without rowid;
create index injection_items_memory on injection_items (memory) where given = 1;

-- Spend ----------------------------------------------------------------------------------------------------------

create table usage (
    usage_id           integer primary key,
    at                 text not null,
    backend            text not null,
    model              text not null,
    project_id         integer,
    job_id             integer,
    outcome            text not null,
    input_tokens       integer not null default 0,
    output_tokens      integer not null default 0,
    cache_read_tokens  integer not null default 0,
    cache_write_tokens integer not null default 0,
    cost_usd           real not null default 0,
    ms                 integer not null default 0
) strict;
create index usage_at on usage (at);

create table feedback (
    feedback_id integer primary key,
    memory      text not null,
    verdict     text not null check (verdict in ('useful', 'useless', 'missed')),
    injection_id integer,
    at          text not null
) strict;
create index feedback_memory on feedback (memory);
