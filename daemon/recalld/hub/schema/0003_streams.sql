-- What a device does: push, withdraw, share, leave. All writing goes through these functions.

-- The next `amount` numbers of the org; the org's row stays locked until the commit. Returns the last one taken before.
create function recalld.take_seqs(in_org uuid, amount bigint) returns bigint
language sql volatile set search_path = pg_catalog, recalld, pg_temp as $$
  update recalld.orgs set seq = seq + amount where org_id = in_org returning seq - amount
$$;

-- Wakes the org's devices at the commit. Without a payload: whoever may log in to the database can listen.
create function recalld.ring(in_org uuid) returns void
language sql volatile set search_path = pg_catalog, recalld, pg_temp as $$
  select pg_notify('recalld_' || replace(in_org::text, '-', ''), '')
$$;

create function recalld.note(me recalld.members, in_device uuid, in_action text, in_stream text, in_about text)
returns void language plpgsql volatile set search_path = pg_catalog, recalld, pg_temp as $$
begin
  insert into recalld.events (org_id, seq, member_id, device_id, action, stream, about)
  values (me.org_id, recalld.take_seqs(me.org_id, 1) + 1, me.member_id, in_device, in_action, in_stream, in_about);
end $$;

create function recalld.check_device(me recalld.members, in_device uuid) returns void
language plpgsql stable set search_path = pg_catalog, recalld, pg_temp as $$
begin
  if not exists (select from recalld.devices d
                 where d.device_id = in_device and d.member_id = me.member_id and d.left_at is null) then
    raise exception 'this device has not joined the hub, or has left it' using errcode = 'insufficient_privilege';
  end if;
end $$;

-- Without a search_path of their own, as switching it for each item costs a third of a push, are the six that only such
-- functions call that have one.

-- The caller, as he is now that nobody else in the org writes until the commit.
create function recalld.me_writing() returns recalld.members
language plpgsql volatile set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me();
begin
  perform recalld.take_seqs(me.org_id, 0);
  return recalld.me();
end $$;

-- The same, on a device of his.
create function recalld.me_writing(in_device uuid) returns recalld.members
language plpgsql volatile set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_writing();
begin
  perform recalld.check_device(me, in_device);
  return me;
end $$;

-- Why the member may not write to the stream; null where he may.
create function recalld.hindrance(me recalld.members, in_stream text) returns text
language sql stable as $$
  select case
    when in_stream is null then 'no stream is named'
    when in_stream = 'org' then
      case when me.role in ('maintainer', 'owner') then null
           else 'only maintainers and owners write to the scope org' end
    when in_stream = 'user:' || me.member_id then null
    when exists (select from recalld.project_shares s join recalld.devices d using (device_id)
                 where s.member_id = me.member_id and s.stream = in_stream and d.left_at is null) then null
    else 'this stream is not shared with you'
  end
$$;

create function recalld.is_base64(given text, most integer) returns boolean
language sql immutable as $$
  select given ~ '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' and length(given) between 4 and most
$$;

-- Names stand in histories as member/device:program, and on terminals.
create function recalld.as_name(given text) returns text
language sql immutable as $$
  select coalesce(left(regexp_replace(given, '[[:cntrl:]/:]', '-', 'g'), 100), '')
$$;

-- What is wrong with an item as such; null where nothing is.
create function recalld.flaw(me recalld.members, item jsonb) returns text
language sql stable as $$
  select case
    when coalesce(item ->> 'id', '') !~ '^m-[0-9a-f]{20}$' then 'this is no memory id'
    when coalesce(item ->> 'base_version', '') !~ '^[0-9]{1,18}$' then 'base_version is no number'
    when not recalld.is_base64(coalesce(item ->> 'digest', ''), 88)
         and (item -> 'deleted' is distinct from 'true' or item ->> 'digest' <> '') then 'the digest is none'
    when item -> 'deleted' = 'true' then null
    when octet_length((item -> 'steps')::text) > 262144 then 'its history has more than 256 KiB'
    when item ->> 'sealed' is not null then
      case when me.seal_check is null or item ->> 'stream' <> 'user:' || me.member_id
             then 'only a scope user that was set up for it is sealed'
           when not recalld.is_base64(item ->> 'sealed', 131072) then 'the sealed text has more than 96 KiB'
           when not recalld.is_base64(coalesce(item ->> 'sealed_steps', 'AAAA'), 349528)
             then 'its sealed history has more than 256 KiB'
           when item ->> 'body' is not null or coalesce(item -> 'steps', '[]') <> '[]'
             then 'a sealed memory has nothing in the clear' end
    when item ->> 'stream' = 'user:' || me.member_id and me.seal_check is not null
      then 'your scope user is sealed: this device needs its key'
    when jsonb_typeof(item -> 'body') is distinct from 'object' then 'there is no memory in it'
    when octet_length((item -> 'body')::text) > 65536 then 'it has more than 64 KiB'
    when jsonb_path_exists(item, '$.**{6}') then 'it is nested too deep'
    when jsonb_path_exists(item, '$.body.** ? (@.type() == "number" && (@ > 1e18 || @ < -1e18))')
      then 'a number in it is too large'  -- for programs that read it
    when jsonb_typeof(coalesce(item -> 'steps', '[]')) <> 'array' then 'its history is no list'
    when item -> 'body' ->> 'scope' is distinct from split_part(item ->> 'stream', ':', 1)
      then 'its scope is not that of the stream'
    when coalesce(item -> 'body' ->> 'status', 'pending') in ('pending', 'deleted') then 'only what was decided is shared'
  end
$$;

-- Takes one item in, with the two numbers behind `before`. Only push calls it, while it holds the org's row.
create function recalld.take_item(
  me recalld.members, in_device uuid, item jsonb, before bigint, out outcome text, out version bigint, out reason text
) language plpgsql volatile as $$
declare
  had recalld.memories;
  target text := item ->> 'stream';
  erased boolean := coalesce(item -> 'deleted' = 'true', false);
  given_digest bytea;
  told jsonb;
begin
  version := 0;
  reason := coalesce(recalld.flaw(me, item), recalld.hindrance(me, target));
  select m.* into had from recalld.memories m where m.org_id = me.org_id and m.id = item ->> 'id';
  if reason is null and (had.owner <> me.member_id or had.stream = target) then
    reason := recalld.hindrance(me, coalesce(had.stream, target));
  end if;
  if reason is null and had.id is not null and had.stream is null and had.owner <> me.member_id then
    if not erased and (item ->> 'base_version')::bigint > 0 then
      outcome := 'stale';  -- the withdrawal is still on its way to this device
      return;
    end if;
    reason := 'another member has taken it back';
  end if;
  if reason is not null then
    outcome := 'refused';
    return;
  end if;
  version := coalesce(had.version, 0);
  given_digest := decode(coalesce(item ->> 'digest', ''), 'base64');
  if had.deleted then
    outcome := case when erased then 'same' else 'gone' end;
    return;
  end if;
  if not erased and had.stream is not null and (item ->> 'base_version')::bigint <> had.version then
    outcome := case when had.digest = given_digest and had.stream = target then 'same' else 'stale' end;
    return;
  end if;
  if not erased and had.id is null and (item ->> 'base_version')::bigint <> 0 then
    outcome := 'stale';  -- the hub was set up anew, or restored from before
    return;
  end if;
  if not erased and had.stream <> target and had.owner <> me.member_id
     and (target like 'user:%' or me.role = 'member') then
    outcome := 'refused';
    reason := 'only who shared it, or a maintainer, takes it out of where it is';
    return;
  end if;

  target := case when erased then coalesce(had.stream, target) else target end;
  version := version + 1;
  if not erased and item ->> 'sealed' is null then
    told := coalesce(had.body, '{}') || (item -> 'body');  -- what only a later client knows stays as that one wrote it
    if octet_length(told::text) > 65536 then
      told := item -> 'body';
    end if;
  end if;
  if had.stream <> target then
    perform recalld.let_go(me, in_device, had.stream, array[had.id], before);
  end if;
  if erased or had.body is not null and item ->> 'sealed' is not null then
    update recalld.events e set body = null, sealed = null
    where e.org_id = me.org_id and e.id = had.id and (e.body is not null or e.sealed is not null);
  end if;
  delete from recalld.withdrawals w where w.org_id = me.org_id and w.stream = target and w.id = item ->> 'id';
  insert into recalld.memories as m (org_id, id, stream, owner, seq, version, deleted, body, sealed, digest, member_id,
                                     device_id, client, changed_at)
  values (me.org_id, item ->> 'id', target, me.member_id, before + 2, take_item.version, erased,
          told, case when not erased then decode(item ->> 'sealed', 'base64') end,
          given_digest, me.member_id, in_device, recalld.as_name(item ->> 'client'), clock_timestamp())
  on conflict on constraint memories_pkey do update set
    (stream, seq, version, deleted, body, sealed, digest, member_id, device_id, client, changed_at) =
    (excluded.stream, excluded.seq, excluded.version, excluded.deleted, excluded.body, excluded.sealed,
     excluded.digest, excluded.member_id, excluded.device_id, excluded.client, excluded.changed_at);
  insert into recalld.events (org_id, seq, member_id, device_id, client, action, stream, id, version, body, sealed)
  values (me.org_id, before + 2, me.member_id, in_device, recalld.as_name(item ->> 'client'),
          case when erased then 'delete' else 'push' end, target, item ->> 'id', take_item.version,
          case when not erased then nullif(item -> 'steps', '[]') end,
          case when not erased then decode(item ->> 'sealed_steps', 'base64') end);
  if had.id is not null and not erased then
    perform recalld.shorten(me.org_id, had.id);
  end if;
  outcome := 'stored';
end $$;

-- Empties the steps of a memory that are older than its last 50 changes, or beyond 128 KiB; those of the newest stay in
-- any case. As each push does so, only the last 51 can have any, and a page of many memories has a bound.
create function recalld.shorten(in_org uuid, in_id text) returns void
language sql volatile as $$
  update recalld.events e set body = null, sealed = null
  from (select last.seq, row_number() over newest as nth,
               sum(coalesce(octet_length(last.body::text), 0) + coalesce(octet_length(last.sealed), 0)) over newest as bytes
        from (select * from recalld.events where org_id = in_org and id = in_id order by seq desc limit 51) last
        window newest as (order by last.seq desc)) kept
  where e.org_id = in_org and e.seq = kept.seq and kept.nth > 1 and (kept.nth > 50 or kept.bytes > 131072)
    and (e.body is not null or e.sealed is not null)
$$;

-- Memories leave their stream: who follows it is told so, and what the history says of them goes.
create function recalld.let_go(me recalld.members, in_device uuid, in_stream text, in_ids text[], before bigint)
returns void language sql volatile set search_path = pg_catalog, recalld, pg_temp as $$
  insert into recalld.withdrawals as w (org_id, stream, id, owner, seq)
  select me.org_id, in_stream, given.id, m.owner, before + given.nth
  from unnest(in_ids) with ordinality given (id, nth)
  join recalld.memories m on m.org_id = me.org_id and m.id = given.id
  on conflict on constraint withdrawals_pkey do update set (owner, seq) = (excluded.owner, excluded.seq);

  update recalld.events e set body = null, sealed = null
  where e.org_id = me.org_id and e.id = any (in_ids) and (e.body is not null or e.sealed is not null);

  insert into recalld.events (org_id, seq, member_id, device_id, action, stream, id, version)
  select me.org_id, before + given.nth, me.member_id, in_device, 'withdraw', in_stream, given.id, m.version
  from unnest(in_ids) with ordinality given (id, nth)
  join recalld.memories m on m.org_id = me.org_id and m.id = given.id
$$;

-- Works a copied batch off, item by item, as compare-and-set; see `hubwire.Item` and `Result`.
create function recalld.push(in_batch uuid, in_device uuid)
returns table (n integer, outcome text, version bigint, reason text)
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me();
  total bigint;
  before bigint;
  given record;
  changed boolean := false;
begin
  select count(*) into total from recalld.incoming i where i.pg_role = session_user and i.batch = in_batch;
  if total > 1000 then
    raise exception 'a push has at most 1000 items, not %', total using errcode = 'program_limit_exceeded';
  end if;
  before := recalld.take_seqs(me.org_id, 2 * total);
  me := recalld.me();  -- as it is now that nobody else in the org writes
  perform recalld.check_device(me, in_device);
  for given in select i.n, i.item from recalld.incoming i
               where i.pg_role = session_user and i.batch = in_batch order by i.n
  loop
    n := given.n;
    select t.* into outcome, version, reason from recalld.take_item(me, in_device, given.item, before) t;
    before := before + 2;
    changed := changed or outcome = 'stored';
    return next;
  end loop;
  delete from recalld.incoming i where i.pg_role = session_user;
  if changed then  -- else who pushes in vain would wake himself to push again, and all others
    perform recalld.ring(me.org_id);
  end if;
end $$;

-- Takes a member's own memories back from a stream, all or some; the rows stay, empty, so that their ids stay his.
create function recalld.withdraw_rows(me recalld.members, in_device uuid, in_stream text, in_ids text[]) returns bigint
language plpgsql volatile set search_path = pg_catalog, recalld, pg_temp as $$
declare
  mine text[];
  before bigint;
begin
  select array_agg(m.id order by m.seq) into mine from recalld.memories m
  where m.org_id = me.org_id and m.stream = in_stream and m.owner = me.member_id and not m.deleted
    and (in_ids is null or m.id = any (in_ids));
  if mine is null then
    return 0;
  end if;
  before := recalld.take_seqs(me.org_id, cardinality(mine));
  perform recalld.let_go(me, in_device, in_stream, mine, before);
  update recalld.memories m
  set stream = null, body = null, sealed = null, digest = '', seq = before + given.nth, version = m.version + 1,
      member_id = me.member_id, device_id = coalesce(in_device, m.device_id), changed_at = clock_timestamp()
  from unnest(mine) with ordinality given (id, nth) where m.org_id = me.org_id and m.id = given.id;
  return cardinality(mine);
end $$;

create function recalld.withdraw(in_device uuid, in_stream text, in_ids text[])
returns table (id text, outcome text, version bigint, reason text)
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
#variable_conflict use_column
declare
  me recalld.members := recalld.me_writing(in_device);
begin
  if cardinality(in_ids) > 1000 then
    raise exception 'a withdrawal has at most 1000 memories' using errcode = 'program_limit_exceeded';
  end if;
  return query
    select asked.id,
           case when m.id is null or (m.stream is null and m.owner = me.member_id) then 'same'
                when m.deleted and m.stream = in_stream and recalld.hindrance(me, in_stream) is null then 'gone'
                when m.stream = in_stream and m.owner = me.member_id then 'stored'
                else 'refused' end,
           case when m.owner <> me.member_id then 0
                when m.stream = in_stream and not m.deleted then m.version + 1
                else coalesce(m.version, 0) end,
           case when m.id is not null and m.owner <> me.member_id then 'another member shared it' else '' end
    from unnest(in_ids) asked (id)
    left join recalld.memories m on m.org_id = me.org_id and m.id = asked.id;
  if recalld.withdraw_rows(me, in_device, in_stream, in_ids) > 0 then
    perform recalld.ring(me.org_id);
  end if;
end $$;

-- Whether a stream is a project's; it may be org or the member's own else, and nothing besides.
create function recalld.is_project(me recalld.members, in_stream text) returns boolean
language plpgsql immutable set search_path = pg_catalog, recalld, pg_temp as $$
begin
  if in_stream in ('org', 'user:' || me.member_id) then
    return false;
  elsif in_stream ~ '^project:(remote|name):[^[:cntrl:]]+$' and length(in_stream) <= 1000 then
    return true;
  end if;
  raise exception 'only a project is shared, or what is your own' using errcode = 'insufficient_privilege';
end $$;

-- Lets a device follow a project of the org, or notes that a device sends `user` or `org`.
create function recalld.share(in_device uuid, in_stream text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_writing(in_device);
begin
  if recalld.is_project(me, in_stream) then
    insert into recalld.project_shares (org_id, stream, member_id, device_id)
    values (me.org_id, in_stream, me.member_id, in_device)
    on conflict on constraint project_shares_pkey do nothing;
  end if;
  perform recalld.note(me, in_device, 'share', in_stream, null);
end $$;

create function recalld.unshare(in_device uuid, in_stream text, delete_mine boolean) returns void
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_writing(in_device);
begin
  if delete_mine and recalld.withdraw_rows(me, in_device, in_stream, null) > 0 then
    perform recalld.ring(me.org_id);
  end if;
  if recalld.is_project(me, in_stream) then
    delete from recalld.project_shares s where s.device_id = in_device and s.stream = in_stream;
  elsif delete_mine and in_stream <> 'org' then
    update recalld.members m set seal_check = null where m.member_id = me.member_id;  -- nothing is sealed any more
  end if;
  perform recalld.note(me, in_device, 'unshare', in_stream, null);
end $$;

-- A name that another of the member's devices has gets a number: histories tell devices apart by their names.
create function recalld.register_device(in_device uuid, in_name text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_writing();
  as_said text := coalesce(nullif(recalld.as_name(in_name), ''), 'device');
  free text := as_said;
  number integer := 1;
begin
  while exists (select from recalld.devices d where d.member_id = me.member_id and d.name = free
                                                and d.device_id <> in_device and d.left_at is null) loop
    number := number + 1;
    free := left(as_said, 90) || '-' || number;
  end loop;
  insert into recalld.devices as d (device_id, org_id, member_id, name)
  values (in_device, me.org_id, me.member_id, free)
  on conflict on constraint devices_pkey do update set name = excluded.name, left_at = null, last_seen_at = now()
  where d.member_id = me.member_id;
  if not found then
    raise exception 'this device is that of another member' using errcode = 'insufficient_privilege';
  end if;
  perform recalld.note(me, in_device, 'join', null, free);
end $$;

create function recalld.leave(in_device uuid, delete_mine boolean) returns void
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_writing(in_device);
  stream text;
begin
  if delete_mine then
    for stream in select distinct m.stream from recalld.memories m
                  where m.org_id = me.org_id and m.owner = me.member_id and m.stream is not null
    loop
      perform recalld.withdraw_rows(me, in_device, stream, null);
    end loop;
    perform recalld.ring(me.org_id);
  end if;
  delete from recalld.project_shares s where s.device_id = in_device;
  update recalld.devices d set left_at = now() where d.device_id = in_device;
  perform recalld.note(me, in_device, 'leave', null, null);
end $$;

-- What tells the member's devices their key. Set once, so that of two devices that begin at once only one does;
-- `unshare` with delete_mine takes it away, with all that was sealed.
create function recalld.set_seal_check(in_check bytea) returns void
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_writing();
begin
  if me.seal_check = in_check then
    return;
  elsif me.seal_check is not null then
    raise exception 'your scope user is sealed with another key' using errcode = 'insufficient_privilege';
  end if;
  update recalld.members m set seal_check = in_check where m.member_id = me.member_id;
  perform recalld.note(me, null, 'seal', 'user:' || me.member_id, null);
end $$;

-- A sign of all that happened in the org so far: the newest event's number and time. (In plpgsql the plan over all parts
-- is kept; a function in SQL would be planned at each call.)
create function recalld.mark() returns text
language plpgsql stable security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  org uuid := recalld.my_org();
begin
  return (select e.seq || '@' || extract(epoch from e.at) from recalld.events e
          where e.org_id = org order by e.seq desc limit 1);
end $$;

-- Whether that happened here: not so in a hub that was restored from a backup made before.
create function recalld.knows(in_mark text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  org uuid := recalld.my_org();
begin
  return exists (select from recalld.events e
                 where e.org_id = org and e.seq = split_part(in_mark, '@', 1)::bigint
                   and extract(epoch from e.at)::text = split_part(in_mark, '@', 2));
end $$;

-- Of streams, each followed up to a seq, those that have something behind it: a question is cheaper than a page of each.
create function recalld.news(in_streams text[], in_cursors bigint[]) returns setof text
language plpgsql stable security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me();
  mine text[] := recalld.my_streams();
begin
  return query
    select s.stream from unnest(in_streams, in_cursors) s (stream, seen)
    where s.stream = any (mine)
      and (exists (select from recalld.memories m
                   where m.org_id = me.org_id and m.stream = s.stream and m.seq > s.seen)
           or exists (select from recalld.withdrawals w
                      where w.org_id = me.org_id and w.stream = s.stream and w.seq > s.seen));
end $$;

create function recalld.whoami(in_device uuid)
returns table (org_id uuid, org text, member_id uuid, member text, role text, sealed bytea, device text)
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
#variable_conflict use_column
declare
  me recalld.members := recalld.me();
begin
  update recalld.devices d set last_seen_at = now()
  where d.device_id = in_device and d.member_id = me.member_id and d.last_seen_at < now() - interval '1 minute';
  return query
    select me.org_id, o.name, me.member_id, me.name, me.role, me.seal_check,
           (select d.name from recalld.devices d
            where d.device_id = in_device and d.member_id = me.member_id and d.left_at is null)
    from recalld.orgs o where o.org_id = me.org_id;
end $$;

revoke all on all functions in schema recalld from public;
grant execute on function
  recalld.push(uuid, uuid), recalld.withdraw(uuid, text, text[]), recalld.share(uuid, text),
  recalld.unshare(uuid, text, boolean), recalld.register_device(uuid, text), recalld.leave(uuid, boolean),
  recalld.set_seal_check(bytea), recalld.whoami(uuid), recalld.mark(), recalld.knows(text), recalld.news(text[], bigint[])
to recalld_member;
