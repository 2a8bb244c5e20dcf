-- The three roles without a login; repeated at every init. Run by the administrator: needs CREATEROLE, no superuser.
--   recalld_owner    owns schema, tables and functions; may not make roles
--   recalld_keeper   makes and locks the members' roles, and owns the four functions that do it, nothing else
--   recalld_member   what every member's role is in: the rights of a member
do $$
declare
  wanted record;
begin
  for wanted in values ('recalld_owner', 'nologin nocreaterole'), ('recalld_keeper', 'nologin createrole'),
                       ('recalld_member', 'nologin nocreaterole')
  loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted.column1) then
      execute pg_catalog.format('create role %I %s', wanted.column1, wanted.column2);
    end if;
    -- Since PostgreSQL 16 who made a role may give himself leave to become it; before, CREATEROLE is enough for that.
    if wanted.column1 <> 'recalld_member' and not pg_catalog.pg_has_role(
      wanted.column1, case when pg_catalog.current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)
    then
      execute pg_catalog.format('grant %I to current_user', wanted.column1);
    end if;
  end loop;
  if not exists (select from pg_catalog.pg_auth_members m
                 where m.roleid = 'recalld_member'::regrole and m.member = 'recalld_keeper'::regrole and m.admin_option)
  then
    grant recalld_member to recalld_keeper with admin option;
  end if;
  if not exists (select from pg_catalog.pg_namespace where nspname = 'recalld') then
    create schema recalld authorization recalld_owner;
  end if;
end $$;
