-- What owners do. Roles are made by recalld_keeper alone, in four small functions that only recalld_owner may call and
-- that touch no role but those made here.

create function recalld.check_role(in_role name) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if in_role !~ '^recalld_[0-9a-f]{20}$' or not exists (
    select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles r on r.oid = m.member
    where r.rolname = in_role and m.roleid = 'recalld_member'::regrole
  ) then
    raise exception 'no role of a member' using errcode = 'insufficient_privilege';
  end if;
end $$;

-- verifier: SCRAM, computed by the client, so that no password comes near the server's log.
create function recalld.check_verifier(verifier text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(verifier, '') !~ '^SCRAM-SHA-256\$[0-9]+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+$' then
    raise exception 'a password comes as a SCRAM verifier only' using errcode = 'invalid_parameter_value';
  end if;
end $$;

create function recalld.make_role(verifier text) returns name
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  made name := 'recalld_' || left(replace(gen_random_uuid()::text, '-', ''), 20);
begin
  perform recalld.check_verifier(verifier);
  execute format('create role %I login nosuperuser nocreatedb nocreaterole noreplication nobypassrls
                  connection limit 40 password %L', made, verifier);
  execute format('grant recalld_member to %I', made);
  execute format('alter role %I set idle_in_transaction_session_timeout = ''60s''', made);
  return made;
end $$;

create function recalld.set_verifier(in_role name, verifier text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recalld.check_role(in_role);
  perform recalld.check_verifier(verifier);
  execute format('alter role %I password %L', in_role, verifier);
end $$;

create function recalld.lock_role(in_role name) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recalld.check_role(in_role);
  execute format('alter role %I nologin password null', in_role);
end $$;

-- Ends the connections of a role. To be called once lock_role is committed, or it is back at once.
create function recalld.hang_up(in_role name) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recalld.check_role(in_role);
  if not pg_has_role('recalld_keeper', in_role, 'usage') then
    execute format('grant %I to recalld_keeper', in_role);
  end if;
  perform pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a where a.usename = in_role;
end $$;

revoke all on function recalld.check_role(name), recalld.check_verifier(text), recalld.make_role(text),
  recalld.set_verifier(name, text), recalld.lock_role(name), recalld.hang_up(name) from public;
grant execute on function recalld.check_role(name), recalld.check_verifier(text) to recalld_keeper;
grant usage, create on schema recalld to recalld_keeper;
reset role;
alter function recalld.make_role(text) owner to recalld_keeper;
alter function recalld.set_verifier(name, text) owner to recalld_keeper;
alter function recalld.lock_role(name) owner to recalld_keeper;
alter function recalld.hang_up(name) owner to recalld_keeper;
set local role recalld_keeper;
grant execute on function recalld.make_role(text), recalld.set_verifier(name, text), recalld.lock_role(name),
  recalld.hang_up(name) to recalld_owner;
set local role recalld_owner;
revoke create on schema recalld from recalld_keeper;

create function recalld.check_name(given text) returns void
language plpgsql immutable set search_path = pg_catalog, recalld, pg_temp as $$
begin
  if coalesce(given, '') !~ '^[^[:cntrl:]/:]{1,100}$' then
    raise exception 'a name has 1 to 100 characters, and neither / nor : in it'
      using errcode = 'invalid_parameter_value';
  end if;
end $$;

-- A new org with its first owner. For the administrator alone.
create function recalld.org_add(in_org text, in_member text, verifier text) returns name
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members;
begin
  perform recalld.check_name(in_org);
  perform recalld.check_name(in_member);
  insert into recalld.orgs (name) values (in_org) returning org_id into me.org_id;
  insert into recalld.members (org_id, name, role, pg_role)
  values (me.org_id, in_member, 'owner', recalld.make_role(verifier)) returning * into me;
  perform recalld.note(me, null, 'member-add', null, in_member);
  return me.pg_role;
end $$;

create function recalld.me_as_owner() returns recalld.members
language plpgsql volatile set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_writing();
begin
  if me.role <> 'owner' then
    raise exception 'only an owner of the org may do that' using errcode = 'insufficient_privilege';
  end if;
  return me;
end $$;

-- The member of that name in the caller's org. gone: one who was removed will do too.
create function recalld.named(me recalld.members, in_name text, gone boolean) returns recalld.members
language plpgsql stable set search_path = pg_catalog, recalld, pg_temp as $$
declare
  found recalld.members;
begin
  select m.* into found from recalld.members m
  where m.org_id = me.org_id and m.name = in_name and (gone or m.removed_at is null)
  order by m.removed_at desc nulls first limit 1;
  if found.member_id is null then
    raise exception 'there is no member %', in_name using errcode = 'no_data_found';
  end if;
  return found;
end $$;

create function recalld.check_owners(me recalld.members) returns void
language plpgsql stable set search_path = pg_catalog, recalld, pg_temp as $$
begin
  if not exists (select from recalld.members m
                 where m.org_id = me.org_id and m.role = 'owner' and m.removed_at is null) then
    raise exception 'an org needs an owner: make another member one first'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
end $$;

create function recalld.member_add(in_name text, in_role text, verifier text) returns name
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_as_owner();
  made name;
begin
  perform recalld.check_name(in_name);
  if exists (select from recalld.members m
             where m.org_id = me.org_id and m.name = in_name and m.removed_at is null) then
    raise exception '% is a member already', in_name using errcode = 'unique_violation';
  end if;
  made := recalld.make_role(verifier);
  insert into recalld.members (org_id, name, role, pg_role) values (me.org_id, in_name, in_role, made);
  perform recalld.note(me, null, 'member-add', null, in_name);
  return made;
end $$;

create function recalld.member_role(in_name text, in_role text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_as_owner();
  other recalld.members := recalld.named(me, in_name, false);
begin
  update recalld.members m set role = in_role where m.member_id = other.member_id;
  perform recalld.check_owners(me);
  perform recalld.note(me, null, 'member-role', null, in_name);
end $$;

-- Removed, and with `erase` forgotten: what he shared is taken back, what was his alone is gone, his name too.
create function recalld.member_remove(in_name text, erase boolean) returns name
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_as_owner();
  other recalld.members := recalld.named(me, in_name, erase);
begin
  if other.removed_at is null then
    update recalld.members m set removed_at = now() where m.member_id = other.member_id;
    perform recalld.check_owners(me);
    perform recalld.lock_role(other.pg_role);
    delete from recalld.project_shares s where s.member_id = other.member_id;
    perform recalld.note(me, null, 'member-remove', null, in_name);
  end if;
  if erase then
    perform recalld.forget(me, other);
  end if;
  return other.pg_role;
end $$;

create function recalld.forget(me recalld.members, other recalld.members) returns void
language plpgsql volatile set search_path = pg_catalog, recalld, pg_temp as $$
declare
  own text := 'user:' || other.member_id;
  stream text;
begin
  for stream in select distinct m.stream from recalld.memories m
                where m.org_id = me.org_id and m.owner = other.member_id and m.stream <> own
  loop
    perform recalld.withdraw_rows(other, null, stream, null);
  end loop;
  delete from recalld.memories m where m.org_id = me.org_id and m.stream = own;
  delete from recalld.withdrawals w where w.org_id = me.org_id and w.stream = own;
  update recalld.events e set body = null, sealed = null, client = ''
  where e.org_id = me.org_id and e.member_id = other.member_id;
  update recalld.events e set id = null where e.org_id = me.org_id and e.stream = own;  -- the rows are marks, see knows
  update recalld.events e set about = null
  where e.org_id = me.org_id and (e.about = other.name or e.member_id = other.member_id);
  update recalld.devices d set name = 'erased' where d.member_id = other.member_id;
  update recalld.members m set name = 'erased ' || left(m.member_id::text, 8), seal_check = null
  where m.member_id = other.member_id;
  perform recalld.note(me, null, 'erase', null, null);
  perform recalld.ring(me.org_id);
end $$;

-- Ends the connections of a member, by his name, or by his role's once he is removed. Waits for no lock: a member may
-- hold the org's.
create function recalld.member_hang_up(in_name text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me();
begin
  if me.role <> 'owner' then
    raise exception 'only an owner of the org may do that' using errcode = 'insufficient_privilege';
  end if;
  perform recalld.hang_up(m.pg_role) from recalld.members m
  where m.org_id = me.org_id and m.member_id <> me.member_id and in_name in (m.name, m.pg_role::text);
end $$;

-- A new password: for oneself (in_name null), or by an owner for another.
create function recalld.member_rotate(in_name text, verifier text) returns name
language plpgsql volatile security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me();
  other recalld.members := me;
begin
  if in_name is not null and in_name <> me.name then
    me := recalld.me_as_owner();
    other := recalld.named(me, in_name, false);
  end if;
  perform recalld.set_verifier(other.pg_role, verifier);
  perform recalld.note(me, null, 'rotate', null, other.name);
  return other.pg_role;
end $$;

-- last_seen_at: to the member himself and to owners.
create function recalld.member_list()
returns table (name text, role text, joined_at timestamptz, removed_at timestamptz, devices text[],
               last_seen_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, recalld, pg_temp as $$
#variable_conflict use_column
declare
  me recalld.members := recalld.me();
begin
  return query
    select m.name, m.role, m.joined_at, m.removed_at,
           array(select d.name from recalld.devices d where d.member_id = m.member_id and d.left_at is null order by 1),
           case when me.role = 'owner' or m.member_id = me.member_id then
             (select max(d.last_seen_at) from recalld.devices d where d.member_id = m.member_id) end
    from recalld.members m where m.org_id = me.org_id order by m.removed_at is not null, m.joined_at, m.name;
end $$;

-- Who did what, newest first, without texts. Nobody sees what another does in his own stream; what happens in projects
-- is seen by those who share them and by owners, the rest by owners and whom it concerns.
create function recalld.audit(in_since timestamptz, amount integer)
returns table (at timestamptz, member text, device text, client text, action text, stream text, id text,
               version bigint, about text)
language plpgsql stable security definer set search_path = pg_catalog, recalld, pg_temp as $$
#variable_conflict use_column
declare
  me recalld.members := recalld.me();
  mine text[] := recalld.my_streams();
begin
  return query
    select e.at, m.name, d.name, e.client, e.action, e.stream, e.id, e.version, e.about
    from recalld.events e
    join recalld.members m on m.member_id = e.member_id
    left join recalld.devices d on d.device_id = e.device_id
    where e.org_id = me.org_id and (in_since is null or e.at >= in_since)
      and (e.member_id = me.member_id or e.stream = any (mine) or (e.stream is null and e.about = me.name)
           or (me.role = 'owner' and coalesce(e.stream, '') not like 'user:%'))
    order by e.seq desc limit least(amount, 100000);
end $$;

-- All that is kept of the caller: for the right of access.
create function recalld.export() returns table (kind text, item jsonb)
language plpgsql stable security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me();
  mine text[] := recalld.my_streams();
begin
  return query
    select 'org', jsonb_build_object('name', o.name) from recalld.orgs o where o.org_id = me.org_id;
  return query select 'member', to_jsonb(me) - 'seal_check' - 'org_id';
  return query select 'device', to_jsonb(d) - 'org_id' - 'member_id' from recalld.devices d
    where d.member_id = me.member_id order by d.joined_at;
  return query select 'share', jsonb_build_object('stream', s.stream, 'since', s.since, 'device', d.name)
    from recalld.project_shares s join recalld.devices d using (device_id)
    where s.member_id = me.member_id order by s.stream, d.name;
  return query select 'memory', to_jsonb(m) - 'org_id' - 'digest' from recalld.memories m
    where m.org_id = me.org_id
      and (m.owner = me.member_id or (m.member_id = me.member_id and m.stream = any (mine))) order by m.seq;
  return query select 'event', to_jsonb(e) - 'org_id' from recalld.events e
    where e.org_id = me.org_id and e.member_id = me.member_id order by e.seq;
end $$;

revoke all on all functions in schema recalld from public;
grant execute on function
  recalld.member_add(text, text, text), recalld.member_role(text, text), recalld.member_remove(text, boolean),
  recalld.member_hang_up(text), recalld.member_rotate(text, text), recalld.member_list(),
  recalld.audit(timestamptz, integer), recalld.export()
to recalld_member;
