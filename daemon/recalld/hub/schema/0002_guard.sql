-- Who sees what. A member is known by the login alone (session_user): SET ROLE changes nothing, and a removed member is
-- nobody at once, in a connection that is open too.
--
-- Every SECURITY DEFINER function looks names up in pg_catalog, then in recalld, and in the caller's own temporary
-- schema last; nobody but recalld_owner can create anything in the first two.

-- The caller's row; all null where the caller is no member.
create function recalld.me_or_nobody() returns recalld.members
language sql stable security definer set search_path = pg_catalog, recalld, pg_temp as $$
  select m from recalld.members m where m.pg_role = session_user and m.removed_at is null
$$;

create function recalld.me() returns recalld.members
language plpgsql stable security definer set search_path = pg_catalog, recalld, pg_temp as $$
declare
  me recalld.members := recalld.me_or_nobody();
begin
  if me.member_id is null then
    raise exception 'this login belongs to no member of the hub (any more)' using errcode = 'insufficient_privilege';
  end if;
  return me;
end $$;

-- The two that policies ask, once a query.
create function recalld.my_org() returns uuid
language sql stable parallel safe security definer set search_path = pg_catalog, recalld, pg_temp as $$
  select m.org_id from recalld.members m where m.pg_role = session_user and m.removed_at is null
$$;

create function recalld.my_streams() returns text[]
language sql stable parallel safe security definer set search_path = pg_catalog, recalld, pg_temp as $$
  select array['org', 'user:' || m.member_id]
         || array(select distinct s.stream from recalld.project_shares s join recalld.devices d using (device_id)
                  where s.member_id = m.member_id and d.left_at is null)
  from recalld.members m where m.pg_role = session_user and m.removed_at is null
$$;

revoke all on all functions in schema recalld from public;
revoke all on all tables in schema recalld from public;
grant usage on schema recalld to recalld_member;
grant execute on function recalld.my_org(), recalld.my_streams() to recalld_member;

grant select on recalld.memories, recalld.withdrawals, recalld.events to recalld_member;
grant select (org_id, member_id, name, role, joined_at, removed_at) on recalld.members to recalld_member;
grant select (org_id, device_id, member_id, name) on recalld.devices to recalld_member;
grant select (version, serves) on recalld.migrations to recalld_member;
grant insert (batch, n, item) on recalld.incoming to recalld_member;

do $$
declare
  guarded text;
begin
  foreach guarded in array array['memories', 'withdrawals', 'events', 'members', 'devices', 'orgs', 'project_shares']
  loop
    execute format('alter table recalld.%I enable row level security', guarded);
    execute format('alter table recalld.%I force row level security', guarded);
    execute format('create policy functions on recalld.%I to recalld_owner using (true) with check (true)', guarded);
    if guarded in ('memories', 'withdrawals', 'events') then
      -- coalesce: as a condition of the index, `any` would cost the order by seq, and each page a sort of all that follows.
      execute format('create policy streams on recalld.%I for select to recalld_member using
        (org_id = (select recalld.my_org()) and coalesce(stream = any ((select recalld.my_streams())::text[]), false))',
        guarded);
      -- The planner's estimates would tell whether a stream that is hidden exists, and how large it is.
      execute format('alter table recalld.%I alter stream set statistics 0', guarded);
      for part in 0..15 loop
        execute format('alter table recalld.%I enable row level security', guarded || '_' || part);
        execute format('create policy functions on recalld.%I to recalld_owner using (true) with check (true)',
                       guarded || '_' || part);
      end loop;
    elsif guarded in ('members', 'devices') then
      execute format('create policy org on recalld.%I for select to recalld_member using
        (org_id = (select recalld.my_org()))', guarded);
    end if;
  end loop;
end $$;
