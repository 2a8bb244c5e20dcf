"""What PostgreSQL itself guards: everything here is tried with the logins of members, in plain SQL, past our client."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from hub_items import body, item, steps
from pg import ADMIN, BASE, Hub, device_id, hub, server
from recalld import hubwire
from recalld.hub import admin
from recalld.hub.postgres import SCHEMA, Remote
from recalld.hubwire import ORG, HubError, Page, Result

__all__ = ["hub"]

REPO = "project:remote:github.com/acme/shop"
HIDDEN = "project:remote:github.com/acme/large"
DENIED = psycopg.errors.InsufficientPrivilege
REFUSALS = (
    DENIED, psycopg.errors.InvalidParameterValue, psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedObject,
    psycopg.errors.FeatureNotSupported,
)  # fmt: skip


class World(Hub):
    """acme: olga (owner), mia (maintainer), ana and bob (members); rival: eve (owner). Canaries where bob must not look."""

    def __init__(self) -> None:
        super().__init__(server())
        self.mia, self.ana, self.bob = self.member("mia", "maintainer"), self.member("ana"), self.member("bob")
        self.eve = self.org("rival", "eve")
        self.canaries: dict[str, str] = {}
        with self.device(self.ana) as ana, self.device(self.eve) as eve, self.device(self.bob) as bob:
            for remote in (ana, eve):
                remote.share(REPO)
            self.ana_stream, self.bob_stream = ana.whoami().stream, bob.whoami().stream
            for remote, stream in (
                (ana, self.ana_stream),
                (ana, REPO),
                (eve, eve.whoami().stream),
                (eve, REPO),
                (eve, ORG),
            ):
                word = f"canary{len(self.canaries)}zzz"
                told = item(stream, f"the word is {word}", steps=steps(f"it was {word}-before"))
                assert remote.push([told])[0].outcome == "stored"
                self.canaries[word] = told.id
            assert bob.push([item(self.bob_stream, "the word of bob himself")])[0].outcome == "stored"
        self.query(
            """insert into recalld.memories (org_id, id, stream, owner, seq, version, digest, member_id, device_id, client)
               select org_id, 'm-' || lpad(to_hex(n), 20, '0'), %s, owner, n, 1, '', member_id, device_id, ''
               from recalld.memories, generate_series(1000, 3000) n where stream = %s""",
            HIDDEN, self.ana_stream,
        )  # fmt: skip
        self.query("analyze")
        self.roles = dict(self.query("select name, pg_role from recalld.members"))
        self.as_bob = psycopg.connect(self.bob, autocommit=True)
        self.looking = self.server.superuser(self.database)

    def members(self) -> list[tuple[Any, ...]]:
        return self.looking.execute(
            "select member_id, name, role, pg_role, removed_at from recalld.members order by 1"
        ).fetchall()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Shared by the tests that must not be able to change it."""
    made = World()
    with made.as_bob, made.looking, psycopg.connect(made.admin):  # the last for the attempt to end it
        yield made
    made.server.drop(made.database)


def sql(dsn: str, *statements: str) -> list[tuple[Any, ...]]:
    """What the last of the statements returns, for the member."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def denied(dsn: str, *statements: str) -> None:
    with pytest.raises(DENIED):
        sql(dsn, *statements)


def test_b86_no_relation_of_the_database_shows_a_canary_to_another_member(world: World) -> None:
    """B86: every table, part, view and catalog, by name, without a filter."""
    relations = world.query(
        """select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p', 'v', 'm', 't', 'f', 'S')
           and c.relnamespace <> 'information_schema'::regnamespace"""
    )
    assert len(relations) > 200
    seen = []
    with psycopg.connect(world.bob, autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: seen.append(notice.message_primary or ""))
        for (name,) in relations:
            try:
                seen += [str(row) for row in connection.execute(f"select t::text from {name} t".encode())]
            except psycopg.Error as error:
                seen.append(str(error))
    everything = "\n".join(seen)
    assert "the word of bob himself" in everything
    for word, memory_id in world.canaries.items():
        assert word not in everything
        assert memory_id not in everything
    assert world.ana_stream not in everything
    assert "github.com/acme" not in everything
    assert not [line for line in seen if "rival" in line or "eve" in line.split("'")]


@pytest.mark.parametrize("table", ["memories", "events", "withdrawals"])
def test_a_function_in_a_condition_is_not_shown_rows_of_others(world: World, table: str) -> None:
    heard: list[str] = []
    with psycopg.connect(world.bob, autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        connection.execute("""create function pg_temp.heard(anyelement) returns boolean language plpgsql cost 0.0000001
                              as $$ begin raise notice '%', $1; return true; end $$""")
        connection.execute(f"select from recalld.{table} t where pg_temp.heard(t)".encode())
        connection.execute(f"select from recalld.{table} t where pg_temp.heard(t.id)".encode())
        connection.execute(
            f"select from recalld.{table} t where 1 / (case when t.id like 'm-%' then 1 end) = 1".encode()
        )
        connection.execute(
            "select 1 / (case when body::text like '%canary%' then 0 else 1 end) from recalld.memories"
        )  # would divide by zero if it saw one
    everything = "\n".join(heard)
    assert table == "withdrawals" or "m-" in everything
    assert not [word for word, memory_id in world.canaries.items() if word in everything or memory_id in everything]


def test_a_plan_tells_nothing_of_streams_that_are_hidden(world: World) -> None:
    def plan(stream: str) -> str:
        rows = sql(world.bob, f"explain select * from recalld.memories where stream = '{stream}'")
        return "\n".join(row[0] for row in rows).replace(stream, "S")

    assert plan(world.ana_stream) == plan(f"user:{uuid.uuid4()}")
    assert plan(REPO) == plan("project:remote:github.com/no/such")
    assert plan(HIDDEN) == plan("project:remote:github.com/no/such")


@pytest.mark.parametrize(
    "trick",
    [
        "set role recalld_owner",
        "set role recalld_keeper",
        "set role {ana}",
        "set role postgres",
        "set session authorization {ana}",
        "select set_config('role', 'recalld_owner', false)",
        "select set_config('session_authorization', '{ana}', false)",
        "alter role {bob} superuser",
        "alter role {bob} createrole",
        "alter role {bob} bypassrls",
        "alter role {bob} connection limit 1000",
        "alter role {bob} rename to {ana}x",
        "alter role {ana} password 'mine'",
        "alter role recalld_member bypassrls",
        "grant recalld_owner to {bob}",
        "grant recalld_keeper to {bob}",
        "grant {ana} to {bob}",
        "create role recalld_0123456789abcdef0123 login",
        "create table recalld.mine ()",
        "create function recalld.me() returns int language sql as 'select 1'",
        "create schema mine",
        "alter table recalld.memories disable row level security",
        "drop policy streams on recalld.memories",
        "create policy mine on recalld.memories using (true)",
        "alter function recalld.my_org() security invoker",
        "update recalld.members set role = 'owner'",
        "update recalld.members set pg_role = session_user",
        "insert into recalld.members (org_id, name, role, pg_role) select org_id, 'x', 'owner', session_user from recalld.members",
        "delete from recalld.members",
        "select pg_role from recalld.members",
        "select seal_check from recalld.members",
        "select last_seen_at from recalld.devices",
        "select * from recalld.orgs",
        "select * from recalld.project_shares",
        "insert into recalld.project_shares select * from recalld.project_shares",
        "update recalld.memories set body = '{{}}'",
        "delete from recalld.memories",
        "truncate recalld.memories",
        "select * from recalld.memories for update",
        "select * from recalld.memories_0",
        "delete from recalld.events",
        "insert into recalld.withdrawals select * from recalld.withdrawals",
        "select * from recalld.incoming",
        "delete from recalld.incoming",
        "update recalld.incoming set n = 0",
        "copy recalld.incoming to stdout",
        "insert into recalld.incoming (batch, n, item) values ('{uuid}', 0, '{{}}') returning item",
        "insert into recalld.incoming (batch, n, item, pg_role) values ('{uuid}', 0, '{{}}', '{ana}')",
        "copy recalld.incoming (batch, n, item, pg_role) from stdin",
        "select recalld.me()",
        "select recalld.me_or_nobody()",
        "select recalld.take_seqs('{uuid}', 1)",
        "select recalld.org_add('mine', 'bob', 'x')",
        "select recalld.make_role('x')",
        "select recalld.set_verifier('{ana}', 'x')",
        "select recalld.lock_role('{ana}')",
        "select recalld.hang_up('{ana}')",
        "select recalld.member_role('bob', 'owner')",
        "select recalld.member_add('bobby', 'owner', 'x')",
        "select recalld.member_remove('ana', true)",
        "select recalld.member_rotate('ana', 'x')",
        "select recalld.member_hang_up('ana')",
        "select recalld.check_name('x')",
        "select recalld.forget(null, null)",
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = '{admin}'",
        "select pg_read_file('postgresql.conf')",
        "select lo_import('/etc/passwd')",
        "copy (select 1) to program 'true'",
        "create extension dblink",
        "create event trigger t on ddl_command_start execute function f()",
        "load '/tmp/x.so'",
    ],
)  # fmt: skip
def test_a_member_gets_no_further_than_a_member(world: World, trick: str) -> None:
    statement = trick.format(**world.roles, uuid=uuid.uuid4(), admin=ADMIN)
    before = world.members()
    try:
        with world.as_bob.transaction():
            cursor = world.as_bob.execute(statement.encode())
            shown = cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        assert isinstance(error, REFUSALS), error
    else:
        assert shown == [], "nothing was refused"
    assert world.members() == before


def test_what_a_member_may_is_this_and_no_more(world: World) -> None:
    """A function or table that comes later is closed until somebody opens it on purpose."""
    functions = world.query(
        """select p.proname::text from pg_proc p where p.pronamespace = 'recalld'::regnamespace
           and has_function_privilege('recalld_member', p.oid, 'execute') order by 1"""
    )
    assert [name for (name,) in functions] == [
        "audit", "export", "knows", "leave", "mark", "member_add", "member_hang_up", "member_list", "member_remove", "member_role",
        "member_rotate", "my_org", "my_streams", "news", "push", "register_device", "set_seal_check", "share", "unshare",
        "whoami", "withdraw",
    ]  # fmt: skip
    columns = world.query(
        """select table_name::text, privilege_type::text, string_agg(column_name, ' ' order by ordinal_position)
           from information_schema.column_privileges join information_schema.columns using (table_schema, table_name, column_name)
           where table_schema = 'recalld' and grantee in ('recalld_member', 'PUBLIC') group by 1, 2 order by 1, 2"""
    )
    assert [(table, what) for table, what, _ in columns] == [
        ("devices", "SELECT"), ("events", "SELECT"), ("incoming", "INSERT"), ("members", "SELECT"),
        ("memories", "SELECT"), ("migrations", "SELECT"), ("withdrawals", "SELECT"),
    ]  # fmt: skip
    narrow = {table: names for table, _, names in columns}
    assert narrow["incoming"] == "batch n item"
    assert narrow["members"] == "member_id org_id name role joined_at removed_at"
    assert narrow["devices"] == "device_id org_id member_id name"


def test_every_function_with_rights_looks_names_up_in_safe_places_only(world: World) -> None:
    rows = world.query(
        """select p.proname, p.proconfig, pg_get_userbyid(p.proowner), p.prosecdef from pg_proc p
           where p.pronamespace = 'recalld'::regnamespace"""
    )
    assert len(rows) > 30
    open_to_members = {
        name
        for (name,) in world.query(
            """select proname from pg_proc where pronamespace = 'recalld'::regnamespace
           and has_function_privilege('recalld_member', oid, 'execute')"""
        )
    }
    for name, settings, owner, definer in rows:
        assert definer or name not in open_to_members
        if settings or definer:  # what only such functions call looks where they look
            assert settings, name
            assert settings[0].startswith("search_path=pg_catalog"), name
            assert settings[0].endswith("pg_temp"), name
        assert owner == (
            "recalld_keeper" if name in ("make_role", "set_verifier", "lock_role", "hang_up") else "recalld_owner"
        )
    attributes = world.query(
        """select rolname::text, rolsuper or rolcanlogin or rolbypassrls or rolreplication or rolcreatedb, rolcreaterole
           from pg_roles where rolname in ('recalld_owner', 'recalld_keeper', 'recalld_member') order by 1"""
    )
    assert attributes == [
        ("recalld_keeper", False, True),
        ("recalld_member", False, False),
        ("recalld_owner", False, False),
    ]
    tables = world.query(
        """select c.relname::text from pg_class c where c.relnamespace = 'recalld'::regnamespace and c.relkind in ('r', 'p')
           and not c.relrowsecurity order by 1"""
    )
    assert tables == [("incoming",), ("migrations",)]


def test_names_that_a_member_makes_himself_mislead_no_function(hub: Hub) -> None:
    bob, ana = hub.member("bob"), hub.member("ana")
    hub.query("grant create on schema public to public")  # as PostgreSQL 14 has it from the beginning
    with hub.device(bob) as remote, hub.device(ana) as other:
        mine, his = remote.whoami(), other.whoami()
        told = item(his.stream, "ana's canary")
        other.push([told])
    with psycopg.connect(bob, autocommit=True) as connection:
        for statement in (
            f"""create temp table members as select '{mine.org_id}'::uuid as org_id, '{his.member_id}'::uuid as member_id,
                'ana'::text as name, 'owner'::text as role, session_user::name as pg_role, null::bytea as seal_check,
                now() as joined_at, null::timestamptz as removed_at""",
            "create temp table orgs (org_id uuid, name text, seq bigint)",
            "create temp table project_shares (org_id uuid, stream text, member_id uuid)",
            "create temp table incoming (batch uuid, n int, item jsonb, pg_role name)",
            "create function pg_temp.my_streams() returns text[] language sql as $$ select array['org', 'user:x'] $$",
            "create function public.me() returns int language sql as $$ select 1 $$",
            "create function public.take_seqs(uuid, bigint) returns bigint language sql as $$ select 0::bigint $$",
            "create function public.evil_eq(name, name) returns boolean language sql as $$ select true $$",
            "create operator public.= (leftarg = name, rightarg = name, function = public.evil_eq)",
            "create function public.evil_ne(uuid, uuid) returns boolean language sql as $$ select false $$",
            "create operator public.<> (leftarg = uuid, rightarg = uuid, function = public.evil_ne)",
            "create function public.left(text, integer) returns text language plpgsql as $$ begin raise 'ran as %', current_user; end $$",
            "create function public.pg_notify(text, text) returns void language plpgsql as $$ begin raise 'ran as %', current_user; end $$",
            "set search_path = pg_temp, public, pg_catalog, recalld",
        ):
            connection.execute(statement.encode())
        assert connection.execute("select member from recalld.whoami(null)").fetchall() == [("bob",)]
        assert connection.execute("select id from recalld.memories").fetchall() == []
        device = device_id("laptop", bob)
        given = item(mine.stream, "bob's")
        connection.execute(
            "insert into recalld.incoming (batch, n, item) values (%s, 0, %s)",
            (batch := uuid.uuid4(), Jsonb(msgspec.to_builtins(given))),
        )
        assert connection.execute("select outcome from recalld.push(%s, %s)", (batch, device)).fetchall() == [
            ("stored",)
        ]
        with pytest.raises(DENIED):
            connection.execute("select recalld.member_role('bob', 'owner')")
        assert connection.execute("select id from recalld.memories").fetchall() == [(given.id,)]


def test_the_hub_can_do_what_it_promises_only_with_row_security_on(world: World) -> None:
    denied(world.bob, "set row_security = off", "select * from recalld.memories")


def test_a_batch_that_another_copied_in_is_not_mine_to_push(hub: Hub) -> None:
    ana, bob = hub.member("ana"), hub.member("bob")
    batch = uuid.uuid4()
    with hub.device(ana) as one, hub.device(bob) as other:
        told = msgspec.to_builtins(item(one.whoami().stream, "ana's"))
        with psycopg.connect(ana) as connection:
            connection.execute("insert into recalld.incoming (batch, n, item) values (%s, 0, %s)", (batch, Jsonb(told)))
        device = other.whoami().device_id
        assert sql(bob, f"select * from recalld.push('{batch}', '{device}')") == []
        mine = one.whoami().device_id
        denied(bob, f"select * from recalld.push('{batch}', '{mine}')")
        assert sql(ana, f"select outcome from recalld.push('{batch}', '{mine}')") == [("stored",)]


def test_a_device_of_another_can_neither_be_taken_nor_used(hub: Hub) -> None:
    """B86: who says that he writes from another's machine, or from none, is refused."""
    ana, eve = hub.member("ana"), hub.org("rival", "eve")
    with hub.device(ana) as remote:
        stolen = remote.whoami().device_id
    assert stolen
    with hub.device(hub.owner) as own, hub.device(eve) as foreign:
        for thief in (own, foreign):
            with pytest.raises(HubError, match="device is that of another member"):
                thief.register_device(stolen, "mine now")
    for dsn, given in itertools.product((hub.owner, eve), (stolen, None)):
        with Remote(dsn, device_id=given) as thief:
            me = thief.whoami()
            assert me.device_id is None
            with pytest.raises(HubError, match="has not joined the hub"):
                thief.push([item(me.stream, "under a false name")])
            for deed in (lambda: thief.share(REPO), lambda: thief.withdraw(ORG, [stolen]), thief.leave):
                with pytest.raises(HubError, match="has not joined the hub"):
                    deed()


def test_a_push_into_what_is_not_ones_own_is_refused(hub: Hub) -> None:
    ana, bob, mia = hub.member("ana"), hub.member("bob"), hub.member("mia", "maintainer")
    with hub.device(ana) as one, hub.device(bob) as other, hub.device(mia) as keeper:
        mine, his = one.whoami().stream, other.whoami().stream
        one.share(REPO)
        keeper.share(REPO)
        private, shared = item(mine, "ana's canary"), item(REPO, "ana's in the shop")
        one.push([private, shared])
        forged = [
            item(mine, "into her stream"),
            item(his, "her id in my stream", id_=private.id),
            item(his, "her id, as a change", id_=private.id, base_version=1),
            item(his, deleted=True, id_=private.id),
            item(mine, deleted=True, id_=private.id),
            item(REPO, "a project that is not shared with me"),
            item(his, "out of a project that is not shared with me", id_=shared.id, base_version=1),
            item(REPO, deleted=True, id_=shared.id),
            item(ORG, "what all must know"),
            item("user:" + "0" * 36, "nobody's"),
            item("project:evil:x", "no such kind"),
            item("", "nowhere"),
        ]
        for told in other.push(forged):
            assert told.outcome == "refused"
            assert told.version == 0
            assert told.reason
            assert "ana" not in told.reason
        assert [row.body["content"] for row in one.pull(mine, 0).rows if row.body] == ["ana's canary"]
        assert other.pull(his, 0).rows == ()
        assert other.pull(mine, 0).rows == other.pull(REPO, 0).rows == ()
        # With the project shared, he may edit; but take it out of there he may not, and make it his own neither.
        other.share(REPO)
        taken = [
            item(his, "mine now", id_=shared.id, base_version=1),
            item(ORG, "all's now", id_=shared.id, base_version=1),
        ]
        assert [told.outcome for told in other.push(taken)] == ["refused", "refused"]
        assert other.withdraw(REPO, [shared.id])[0].outcome == "refused"
        assert [told.outcome for told in keeper.push([item(ORG, "for all", id_=shared.id, base_version=1)])] == [
            "stored"
        ]
        assert [told.id for told in other.pull(REPO, 0).withdrawn] == [shared.id]
        assert other.push([item(ORG, "edited", id_=shared.id, base_version=2)])[0].outcome == "refused"
        assert other.push([item(ORG, deleted=True, id_=shared.id, base_version=2)])[0].outcome == "refused"


def test_what_does_not_fit_is_refused_alone_and_the_rest_goes(hub: Hub) -> None:
    with hub.device(hub.owner) as remote:
        mine = remote.whoami().stream
        remote.share(REPO)
        good = item(mine, "good")
        bad = [
            item(mine, "x" * 65 * 1024),
            item(mine, "long history", steps=steps(*["y" * 4_000] * 70)),
            item(mine, "of the wrong scope", scope="org"),
            item(REPO, "of the wrong scope", scope="user"),
            item(mine, "not decided", status="pending"),
            item(mine, "deleted, but with a text", status="deleted"),
            msgspec.structs.replace(item(mine, "a bad id"), id="m-1"),
            msgspec.structs.replace(item(mine, "no digest"), digest=b""),
            msgspec.structs.replace(item(mine, "a long digest"), digest=b"x" * 100),
            msgspec.structs.replace(item(mine, "sealed before it is set up"), body=None, sealed=b"x"),
            msgspec.structs.replace(item(REPO, "a sealed project"), body=None, sealed=b"x"),
            msgspec.structs.replace(item(mine, "of nothing"), body=None),
            msgspec.structs.replace(item(mine, "of the future"), base_version=-1),
        ]
        outcomes = [told.outcome for told in remote.push([*bad, good])]
        assert outcomes == ["refused"] * len(bad) + ["stored"]
        assert [row.id for row in remote.pull(mine, 0).rows] == [good.id]


def test_an_item_of_any_shape_is_refused_in_a_sentence(hub: Hub) -> None:
    named = '"id": "m-0123456789abcdef0123", "stream": "org", "base_version": 0'
    broken = [
        "null", "[]", "{}", '"text"', "7", '{"id": 7}', '{"id": {"$ne": ""}, "stream": []}',
        '{"id": "m-0123456789abcdef0123"}',
        '{"id": "m-0123456789abcdef0123", "stream": "org", "base_version": 1e300, "digest": "AA==", "body": {}}',
        f'{{{named}, "digest": "AA==", "body": [], "steps": {{}}}}',
        f'{{{named}, "digest": "AA==", "body": {{"scope": "org", "status": "active"}}, "steps": {{}}}}',
        f'{{{named}, "digest": "AA==", "body": {{"scope": "org", "status": "active", "of_later": [{{"n": -1e400}}]}}}}',
        f'{{{named}, "digest": "AA=", "deleted": true}}',
        f'{{{named}, "digest": "AA==", "deleted": 1, "body": {{"scope": "org"}}}}',
        f'{{{named}, "digest": "A", "body": {{"scope": "org", "status": "active"}}}}',
        f'{{{named}, "digest": "AA==", "deleted": "true", "body": {{"scope": "org", "status": "deleted"}}}}',
        f'{{{named}, "digest": "AA==", "sealed": {{}}, "body": {{"scope": "org", "status": "active"}}}}',
    ]  # fmt: skip
    with hub.device(hub.owner) as remote, psycopg.connect(hub.owner, autocommit=True) as connection:
        batch, device = uuid.uuid4(), remote.whoami().device_id
        for n, text in enumerate(broken):
            connection.execute("insert into recalld.incoming (batch, n, item) values (%s, %s, %s)", (batch, n, text))
        told = connection.execute("select n, outcome, reason from recalld.push(%s, %s)", (batch, device)).fetchall()
        assert [n for n, outcome, reason in told if outcome == "refused" and reason] == list(range(len(broken)))
        assert hub.query("select count(*) from recalld.memories") == [(0,)]


def test_what_says_nothing_of_deletion_is_compared_as_any_change(hub: Hub) -> None:
    with hub.device(hub.owner) as remote, psycopg.connect(hub.owner, autocommit=True) as connection:
        told = item(remote.whoami().stream, "first")
        remote.push([told])
        bare = msgspec.to_builtins(told)
        del bare["deleted"]
        bare["digest"] = "AAAA"
        bare["client"] = "\x1b[31m/:x"
        for base_version, outcome in ((0, "stale"), (1, "stored")):
            batch = uuid.uuid4()
            connection.execute(
                "insert into recalld.incoming (batch, n, item) values (%s, 0, %s)",
                (batch, Jsonb(bare | {"base_version": base_version})),
            )
            rows = connection.execute(
                "select outcome from recalld.push(%s, %s)", (batch, remote.whoami().device_id)
            ).fetchall()
            assert rows == [(outcome,)]
        assert remote.pull(told.stream, 0).rows[0].client == "-[31m--x"


def test_broken_json_and_too_many_items_change_nothing(hub: Hub) -> None:
    with hub.device(hub.owner) as remote:
        me = remote.whoami()
        with psycopg.connect(hub.owner) as connection, pytest.raises(psycopg.errors.InvalidTextRepresentation):  # noqa: SIM117
            with connection.cursor().copy("copy recalld.incoming (batch, n, item) from stdin") as copy:
                copy.write_row((uuid.uuid4(), 0, '{"id": '))
        with pytest.raises(HubError, match="at most 1000 items"):
            remote.push([item(me.stream, "many")] * 1_001)
        assert hub.query(
            "select (select count(*) from recalld.memories) + (select count(*) from recalld.incoming)"
        ) == [(0,)]


def test_a_sealed_stream_takes_nothing_in_the_clear_and_keeps_nothing_of_before(hub: Hub) -> None:
    with hub.device(hub.owner) as remote:
        mine = remote.whoami().stream
        before = item(mine, "in the clear", steps=steps("an older text"))
        other = item(mine, "in the clear too")
        remote.push([before, other])
        assert remote.clear_rows(mine) == 3
        remote.set_seal_check(b"check")
        remote.set_seal_check(b"check")
        with pytest.raises(HubError, match="another key"):
            remote.set_seal_check(b"of a second device that began at once")
        assert remote.whoami().sealed == b"check"
        sealed = msgspec.structs.replace(
            before, base_version=1, body=None, sealed=b"\x00\xff", steps=(), sealed_steps=b"s"
        )
        refused = [
            item(mine, "in the clear again"),
            msgspec.structs.replace(sealed, steps=steps("told")),
            msgspec.structs.replace(sealed, body=body("told")),
            msgspec.structs.replace(sealed, sealed=b"x" * 98_305),
        ]
        told = remote.push([*refused, sealed, item(mine, deleted=True, id_=other.id)])
        assert [one.outcome for one in told] == ["refused"] * 4 + ["stored"] * 2
        assert remote.clear_rows(mine) == 0
        row = remote.pull(mine, 0).rows[0]
        assert (row.body, row.sealed, row.steps) == (None, b"\x00\xff", ())
        assert [(steps.who, steps.sealed) for steps in row.sealed_steps] == [("olga/laptop", b"s")]
        assert hub.query(
            "select count(*) from recalld.events e where e::text like '%%text%%' or e::text like '%%clear%%'"
        ) == [(0,)]
        remote.unshare(mine, delete_mine=True)  # the way out for who has lost the key
        assert remote.whoami().sealed is None
        assert remote.push([item(mine, "in the open again")])[0].outcome == "stored"


def test_a_removed_member_sees_and_does_nothing_at_once_in_an_open_connection(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(bob) as remote:
        me = remote.whoami()
        remote.push([item(me.stream, "bob's")])
        with closing(psycopg.connect(bob, autocommit=True)) as still, closing(psycopg.connect(bob)) as frozen:
            assert still.execute("select count(*) from recalld.memories").fetchall() == [(1,)]
            frozen.execute("set transaction isolation level repeatable read")
            frozen.execute("select count(*) from recalld.memories")
            with psycopg.connect(hub.owner) as olga:  # the first half of admin.remove: the connections stay
                olga.execute("select recalld.member_remove('bob', false)")
            assert still.execute("select count(*) from recalld.memories").fetchall() == [(0,)]
            assert still.execute("select recalld.my_org()").fetchall() == [(None,)]
            with pytest.raises(DENIED, match="no member"):
                still.execute("select recalld.share(%s, %s)", (me.device_id, REPO))
            with pytest.raises(DENIED, match="no member"):
                still.execute("select * from recalld.export()")
            with pytest.raises(psycopg.errors.SerializationFailure):  # an old snapshot helps nobody to write
                frozen.execute("select recalld.share(%s, %s)", (me.device_id, REPO))
            admin.remove(hub.owner, "bob", erase=True)  # of one who is gone already: his connections end
            with pytest.raises(psycopg.OperationalError):
                still.execute("select 1")
    with (
        pytest.raises(HubError, match=r"authentication failed|not permitted to log in") as error,
        Remote(bob) as remote,
    ):
        remote.whoami()
    assert not error.value.away


def test_a_member_who_holds_everything_up_is_removed_all_the_same(hub: Hub) -> None:
    """He has pushed without committing, set his own row and his password, and turned the time limits off."""
    bob = hub.member("bob")
    with hub.device(bob) as remote, hub.device(hub.owner) as olga:
        device = remote.whoami().device_id
        with closing(psycopg.connect(bob)) as holding, closing(psycopg.connect(bob)) as resetting:
            holding.execute("set idle_in_transaction_session_timeout = 0")
            holding.execute("select * from recalld.push(%s, %s)", (uuid.uuid4(), device))
            holding.execute("select recalld.set_seal_check('x')")
            resetting.execute("set idle_in_transaction_session_timeout = 0")
            resetting.execute("alter role current_user password 'of his own'")
            admin.remove(hub.owner, "bob")
            for connection in (holding, resetting):
                with pytest.raises(psycopg.OperationalError):
                    connection.execute("select 1")
        assert olga.push([item(olga.whoami().stream, "on we go")])[0].outcome == "stored"


def test_no_body_that_a_member_can_store_spoils_the_page_of_the_others(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(bob) as remote, hub.device(hub.owner) as olga:
        for one in (remote, olga):
            one.share(REPO)
        good = msgspec.to_builtins(item(REPO, "good", steps=steps("good before")))
        digits, deep = "7" * 60_000, "[" * 20_000 + "]" * 20_000
        bodies = [
            {"confidence": 10**30}, {"confidence": "high"}, {"tags": {}}, {"tags": [7]}, {"content": None},
            {"content": ["x"]}, {"type": "of a later version"}, {"extra": [[1, {"a": 2}]]}, {"source": None},
        ]  # fmt: skip
        told = [good | {"id": f"m-{n:020x}", "body": good["body"] | fields} for n, fields in enumerate(bodies)]
        texts = [msgspec.json.encode(one).decode() for one in (good, *told) if 10**30 not in one["body"].values()]
        plain = msgspec.json.encode(good).decode()
        texts += [
            plain.replace('"confidence":1.0', f'"confidence":{number}').replace(good["id"], f"m-{n:020x}")
            for n, number in enumerate((digits, "1e400", "1e60000", "-1e-9999", '"1"', "18446744073709551616"), 100)
        ]
        first = good["steps"][0]
        texts += [
            plain.replace('"version":1', f'"version":{number}').replace(good["id"], f"m-{n:020x}")
            for n, number in enumerate(("1e400", "99999999999999999999", digits, "null", "-1", '"x"', "{}"), 200)
        ]
        assert '"version":1' in plain
        assert first["version"] == 1
        with psycopg.connect(bob, autocommit=True) as connection:
            batch = uuid.uuid4()
            for n, text in enumerate(texts):
                connection.execute(
                    "insert into recalld.incoming (batch, n, item) values (%s, %s, %s)", (batch, n, text)
                )
            outcomes = connection.execute(
                "select outcome from recalld.push(%s, %s)", (batch, remote.whoami().device_id)
            ).fetchall()
            assert outcomes.count(("stored",)) > 15
            for nested in (deep, '{"a":' * 10 + "1" + "}" * 10):
                with contextlib.suppress(psycopg.errors.StatementTooComplex):  # too deep for PostgreSQL itself
                    text = plain.replace('"tags":[]', f'"tags":{nested}').replace(good["id"], "m-" + "f" * 20)
                    batch = uuid.uuid4()
                    connection.execute(
                        "insert into recalld.incoming (batch, n, item) values (%s, 0, %s)", (batch, text)
                    )
                    told = connection.execute(
                        "select outcome, reason from recalld.push(%s, %s)", (batch, remote.whoami().device_id)
                    ).fetchall()
                    assert told == [("refused", "it is nested too deep")]
        page = olga.pull(REPO, 0)
        assert len(page.rows) == outcomes.count(("stored",))
        over_the_socket = msgspec.json.encode(page)
        assert msgspec.json.encode(msgspec.json.decode(over_the_socket, type=Page)) == over_the_socket
        assert hubwire.checked(page.rows[0].body or {}) == hubwire.checked(good["body"])
        assert page.rows[0].steps
        for row in page.rows:
            assert row.body == {} or hubwire.checked(row.body or {})


def test_names_hold_nothing_that_a_terminal_or_a_history_would_take_for_more(hub: Hub) -> None:
    for name in ("", "a/b", "a:b", "a\nb", "\x1b[31m", "x" * 101):
        with pytest.raises(HubError, match="a name has 1 to 100 characters"):
            admin.add(hub.owner, name, "member")
    with Remote(hub.owner) as remote:
        remote.register_device(str(uuid.uuid4()), "a/b:c\x1b[31m\n" + "x" * 200)
        assert admin.members(hub.owner)[0].devices == (("a-b-c-[31m-" + "x" * 200)[:100],)
        with pytest.raises(HubError, match="only a project"):
            remote.share("project:remote:a\x1b[31m")


def test_what_is_shared_is_a_project_or_ones_own(hub: Hub) -> None:
    with hub.device(hub.member("bob")) as remote, hub.device(hub.owner) as olga:
        mine, hers = remote.whoami().stream, olga.whoami().stream
        for stream in (
            hers,
            "",
            "user:",
            "project:",
            "project:path:/x",
            "project:remote:",
            "project:remote:" + "x" * 1_000,
        ):
            for deed in (remote.share, remote.unshare):
                with pytest.raises(HubError, match="only a project is shared, or what is your own"):
                    deed(stream)
        for stream in (mine, ORG, REPO):
            remote.share(stream)
            remote.unshare(stream)
        remote.unshare(REPO)
        assert {entry.stream for entry in admin.audit(hub.owner, None, 100)} == {None, ORG, REPO}


def test_an_owner_rules_in_his_org_alone(hub: Hub) -> None:
    eve = hub.org("rival", "eve")
    admin.add(eve, "zoe", "member")
    foreign = hub.query("select pg_role from recalld.members where name = 'zoe'")[0][0]
    for deed in (
        lambda: admin.remove(hub.owner, "zoe"),
        lambda: admin.remove(hub.owner, "zoe", erase=True),
        lambda: admin.rotate(hub.owner, "zoe"),
        lambda: admin.set_role(hub.owner, "zoe", "owner"),
    ):
        with pytest.raises(HubError, match="there is no member zoe"):
            deed()
    with psycopg.connect(admin.rotate(eve, "zoe"), autocommit=True) as zoe:
        sql(hub.owner, f"select recalld.member_hang_up('{foreign}')", "select recalld.member_hang_up('zoe')")
        assert zoe.execute("select 1").fetchall() == [(1,)]
    assert [member.name for member in admin.members(hub.owner)] == ["olga"]
    assert {member.name for member in admin.members(eve)} == {"eve", "zoe"}
    assert not [entry for entry in admin.audit(hub.owner, None, 100) if "zoe" in str(entry) or "eve" in str(entry)]


def test_only_owners_change_members_and_an_org_keeps_one(hub: Hub) -> None:
    mia = hub.member("mia", "maintainer")
    for deed in (
        lambda: admin.add(mia, "x", "member"),
        lambda: admin.remove(mia, "olga"),
        lambda: admin.set_role(mia, "mia", "owner"),
        lambda: admin.rotate(mia, "olga"),
    ):
        with pytest.raises(HubError, match="only an owner"):
            deed()
    for deed in (lambda: admin.remove(hub.owner, "olga"), lambda: admin.set_role(hub.owner, "olga", "member")):
        with pytest.raises(HubError, match="an org needs an owner"):
            deed()
    with pytest.raises(HubError, match="mia is a member already"):
        admin.add(hub.owner, "mia", "member")
    admin.set_role(hub.owner, "mia", "owner")
    admin.remove(mia, "olga")
    assert [(member.name, member.role) for member in admin.members(mia) if not member.removed_at] == [("mia", "owner")]
    with pytest.raises(HubError):
        admin.members(hub.owner)


def test_a_password_comes_near_the_server_as_a_verifier_only(hub: Hub) -> None:
    role = hub.query("select pg_role from recalld.members where name = 'olga'")[0][0]
    hub.query(f"alter role {role} set log_statement = 'all'")
    before = len((hub.server.folder / "log").read_text())
    dsns = [hub.member("bob"), admin.rotate(hub.owner, "bob"), admin.rotate(hub.owner, None)]
    log = (hub.server.folder / "log").read_text()[before:]
    assert "member_rotate" in log
    for dsn in dsns:
        password = conninfo_to_dict(dsn)["password"]
        assert len(password) >= 32
        assert password not in log
    role = hub.query("select pg_role from recalld.members where name = 'bob'")[0][0]
    for verifier in ("plain", "", "md5" + "0" * 32, "SCRAM-SHA-256$4096:a'b$c:d"):
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            sql(dsns[2], "select recalld.member_rotate('bob', '" + verifier.replace("'", "''") + "')")
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        psycopg.connect(dsns[0])
    with psycopg.connect(dsns[1]) as connection:
        assert connection.execute("select session_user").fetchall() == [(role,)]


def test_a_new_password_of_ones_own_changes_nothing_else_of_the_address(hub: Hub) -> None:
    asked = (
        hub.owner.replace("@127.0.0.1:", "@localhost:")
        + f"?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={hub.server.folder}/data/server.crt"
        "&connect_timeout=7&options=-c%20jit%3Doff"
    )
    before, after = conninfo_to_dict(asked), conninfo_to_dict(admin.rotate(asked, None))
    assert before.pop("password") != after["password"]
    assert {name: after[name] for name in before} == before
    with Remote(make_conninfo("", **after)) as remote:
        assert remote.whoami().member == "olga"


def test_the_same_project_in_two_orgs_is_two_streams(hub: Hub) -> None:
    eve, bob = hub.org("rival", "eve"), hub.member("bob")
    with hub.device(hub.owner) as olga, hub.device(eve) as other, hub.device(bob) as late:
        for remote in (olga, other):
            remote.share(REPO)
        told = item(REPO, "acme's")
        assert olga.push([told])[0].outcome == "stored"
        assert other.pull(REPO, 0).rows == ()
        assert other.push([item(REPO, "rival's, under the same id", id_=told.id)])[0].outcome == "stored"
        assert late.pull(REPO, 0).rows == ()
        late.share(REPO)
        assert [row.body["content"] for row in late.pull(REPO, 0).rows if row.body] == ["acme's"]
        late.unshare(REPO)
        assert late.pull(REPO, 0).rows == ()


def test_no_cursor_skips_a_row_of_a_push_that_commits_later(hub: Hub) -> None:
    """The second push, begun while the first is open, waits for it: numbers become visible in their order."""
    bob = hub.member("bob")
    with hub.device(hub.owner) as olga, hub.device(bob) as other, hub.device(bob, "desk") as reader:
        for remote in (olga, other):
            remote.share(REPO)
        first, second = item(REPO, "first"), item(REPO, "second")
        slow = psycopg.connect(hub.owner)
        batch = uuid.uuid4()
        slow.execute(
            "insert into recalld.incoming (batch, n, item) values (%s, 0, %s)",
            (batch, Jsonb(msgspec.to_builtins(first))),
        )
        slow.execute("select * from recalld.push(%s, %s)", (batch, olga.whoami().device_id))
        pushing = threading.Thread(target=other.push, args=([second],))
        pushing.start()
        until = time.monotonic() + 10
        while not hub.query(
            "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        ):
            assert time.monotonic() < until, "the second push does not wait for the first"
            time.sleep(0.01)
        early = reader.pull(REPO, 0)
        assert early.rows == ()
        slow.commit()
        pushing.join(10)
        late = reader.pull(REPO, early.cursor)
        assert [row.id for row in late.rows] == [first.id, second.id]
        slow.close()


def test_pushes_of_another_org_wait_for_nobody(hub: Hub) -> None:
    eve = hub.org("rival", "eve")
    with hub.device(eve) as other, psycopg.connect(hub.owner) as slow:
        slow.execute("select recalld.register_device(%s, 'x')", (uuid.uuid4(),))  # holds acme's row
        assert other.push([item(other.whoami().stream, "meanwhile")])[0].outcome == "stored"


def test_readers_beside_many_writers_see_every_row_once(hub: Hub) -> None:
    """Each reader follows its cursor while four devices push; nothing is missed and nothing comes twice."""
    devices = [hub.device(hub.owner, f"device {n}") for n in range(4)]
    stream = devices[0].whoami().stream
    batches = [[[item(stream, f"{n} {i} {j}") for j in range(3)] for i in range(8)] for n in range(4)]
    done = threading.Event()

    def follow() -> list[str]:
        seen: list[str] = []
        with Remote(hub.owner) as reader:
            cursor, last = 0, False
            while not last:
                last = done.is_set()
                page = reader.pull(stream, cursor, 5)
                while page.rows:
                    seen += [row.id for row in page.rows]
                    page = reader.pull(stream, page.cursor, 5)
                cursor = page.cursor
        return seen

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(follow) for _ in range(2)]
        writers = [
            pool.submit(lambda remote, mine: [remote.push(batch) for batch in mine], remote, mine)
            for remote, mine in zip(devices, batches, strict=True)
        ]
        for writer in writers:
            writer.result(30)
        done.set()
        pushed = {told.id for mine in batches for batch in mine for told in batch}
        for reader in readers:
            seen = reader.result(30)
            assert len(seen) == len(set(seen))
            assert set(seen) == pushed
    for device in devices:
        device.close()


def test_a_page_is_read_by_the_index_and_the_policy_asks_once(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(bob) as remote:
        me = remote.whoami()
        hub.query(
            """insert into recalld.memories (org_id, id, stream, owner, seq, version, digest, member_id, device_id, client, body)
               select %s, 'm-' || lpad(to_hex(n), 20, '0'), case when n %% 10 = 0 then %s else 'org' end, %s, n, 1, '', %s, %s, '', '{}'
               from generate_series(1, 20000) n""",
            me.org_id, me.stream, me.member_id, me.member_id, me.device_id,
        )  # fmt: skip
        hub.query("analyze")
        plan = sql(
            bob,
            f"""explain (analyze, format json) select id, seq from recalld.memories
                            where org_id = '{me.org_id}' and stream = '{me.stream}' and seq > 15000 order by seq limit 100""",
        )
        nodes = list(_nodes(plan[0][0][0]["Plan"]))
        scans = [
            node
            for node in nodes
            if "Scan" in node["Node Type"] and node.get("Relation Name", "").startswith("memories")
        ]
        assert [(node["Node Type"], node["Actual Rows"], node.get("Rows Removed by Filter", 0)) for node in scans] == [
            ("Index Scan", 100, 0)
        ]
        assert "my_" not in "".join(str(node.get("Filter", "")) for node in scans)
        asked = [node for node in nodes if node.get("Parent Relationship") == "InitPlan"]
        assert asked
        assert {node["Actual Loops"] for node in asked} <= {0, 1}


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from _nodes(part)


@pytest.fixture
def bare() -> Iterator[str]:
    """A database without a hub."""
    name = server().database("template1")
    yield name
    server().drop(name)


def _objects(database: str) -> list[tuple[Any, ...]]:
    with server().superuser(database) as connection:
        return connection.execute(
            """select (select count(*) from pg_class), (select count(*) from pg_proc), (select count(*) from pg_roles),
                      (select count(*) from pg_namespace), (select count(*) from pg_auth_members)"""
        ).fetchall()


def test_a_dry_run_prints_what_init_runs_and_changes_nothing(bare: str) -> None:
    before = _objects(bare)
    script = admin.init_sql(server().admin_dsn(bare))
    assert _objects(bare) == before
    for wanted in ("create role", "create table recalld.memories", "force row level security", "0004_members"):
        assert wanted in script
    with psycopg.connect(server().admin_dsn(bare), autocommit=True) as connection:
        connection.execute(script.encode())
    assert admin.init_sql(server().admin_dsn(bare)).startswith("-- ")
    made = admin.init(server().admin_dsn(bare), org="acme", member="olga", program="tests")
    assert (made.applied, made.created) == ((), True)


def test_init_again_changes_nothing(hub: Hub) -> None:
    before = (
        _objects(hub.database),
        hub.query("select * from recalld.members"),
        hub.query("select * from recalld.migrations"),
    )
    again = admin.init(hub.admin, org="acme", member="somebody else", program="another")
    assert (again.applied, again.created, again.join) == ((), False, None)
    assert before == (
        _objects(hub.database),
        hub.query("select * from recalld.members"),
        hub.query("select * from recalld.migrations"),
    )


def test_init_is_whole_or_not_done(bare: str) -> None:
    before = _objects(bare)
    with pytest.raises(HubError):
        admin.init(server().admin_dsn(bare), org="acme", member="", program="tests")  # fails at the very end
    assert _objects(bare) == before


def test_init_says_what_its_login_must_be_allowed(bare: str, hub: Hub) -> None:
    with pytest.raises(HubError, match="needs a login with CREATEROLE"):
        admin.init(hub.owner.replace(f"/{hub.database}", f"/{bare}"), org="acme", member="olga", program="tests")
    with pytest.raises(HubError, match="needs a login with CREATEROLE"):
        admin.init(hub.owner, org="another", member="olga", program="tests")


def test_inits_that_begin_at_once_make_one_hub(bare: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(lambda n: admin.init(server().admin_dsn(bare), org="acme", member=f"m{n}", program="t"), range(4))
        )
    assert sorted(one.created for one in made) == [False, False, False, True]
    assert sorted(len(one.applied) for one in made) == [0, 0, 0, SCHEMA]


def test_a_schema_of_a_later_program_is_left_alone(hub: Hub) -> None:
    later = "insert into recalld.migrations (version, serves, name, program) values (%s, %s, 'x', 'later')"
    hub.query(later, SCHEMA + 1, SCHEMA)
    for deed in (lambda: admin.init(hub.admin, org="b", member="c", program="t"), lambda: admin.init_sql(hub.admin)):
        with pytest.raises(HubError, match=f"has schema {SCHEMA + 1}, this program knows {SCHEMA}: upgrade recalld"):
            deed()
    with hub.device(hub.owner) as remote:  # what a device needs is there
        for name in ("whoami", "push", "withdraw", "member_list", "audit", "export"):
            _widen(hub, name)
        assert remote.whoami().member == "olga"
        told = item(remote.whoami().stream, "memory")
        assert remote.push([told]) == [Result(id=told.id, outcome="stored", version=1)]
        assert remote.withdraw(told.stream, [told.id]) == [Result(id=told.id, outcome="stored", version=2)]
        assert admin.members(hub.owner)[0].name == "olga"
        assert admin.audit(hub.owner, None, 1)[0].action == "withdraw"
        assert admin.export(hub.owner)["member"]["name"] == "olga"
    hub.query(later, SCHEMA + 2, SCHEMA + 2)
    hub.query("drop function recalld.whoami(uuid)")
    line = f"the hub serves programs from its schema {SCHEMA + 2} on, and this one is of {SCHEMA}: upgrade recalld here"
    with pytest.raises(HubError, match=line), Remote(hub.owner) as remote:
        remote.whoami()
    hub.query("delete from recalld.migrations where version > %s", SCHEMA)
    with pytest.raises(HubError, match="or one of another version"), Remote(hub.owner) as remote:
        remote.whoami()
    hub.query("delete from recalld.migrations where version > 1")
    with pytest.raises(HubError, match="the hub's schema has version 1"), Remote(hub.owner) as remote:
        remote.whoami()


def _widen(hub: Hub, name: str) -> None:
    """Gives a function one more column, as a later version might."""
    ((number, arguments, result),) = hub.query(
        "select pronargs, pg_get_function_identity_arguments(oid), pg_get_function_result(oid) from pg_proc where oid = %s::regproc",
        f"recalld.{name}",
    )
    given = ", ".join(f"${n}" for n in range(1, number + 1))
    hub.query(f"alter function recalld.{name} rename to {name}_was")
    hub.query(
        f"create function recalld.{name}({arguments}) returns {result.replace('TABLE(', 'TABLE(of_later integer, ')} "
        f"language sql security definer as 'select 1, was.* from recalld.{name}_was({given}) was'"
    )


def test_the_program_and_its_files_agree_on_the_version() -> None:
    assert [step.version for step in admin._steps()] == list(range(1, SCHEMA + 1))
    with server().superuser(BASE) as connection:
        assert connection.execute("select max(version) from recalld.migrations").fetchall() == [(SCHEMA,)]


def test_a_role_that_is_no_member_has_no_business_here(hub: Hub) -> None:
    name = f"stranger_{next(hub.server.numbers)}"
    hub.query(f"create role {name} login password 'strange'")
    stranger = f"postgresql://{name}:strange@127.0.0.1:{hub.server.port}/{hub.database}"
    denied(stranger, "select * from recalld.memories")
    with Remote(stranger) as remote, pytest.raises(HubError, match="permission denied"):
        remote.whoami()
    hub.query(f"grant recalld_member to {name}")  # in the group, but in no org
    assert sql(stranger, "select * from recalld.memories") == []
    assert sql(stranger, "select name from recalld.members") == []
    with Remote(stranger) as remote, pytest.raises(HubError, match="belongs to no member"):
        remote.whoami()
    hub.query(f"drop role {name}")


def test_a_member_of_one_database_is_nobody_in_another(hub: Hub) -> None:
    """Roles are the whole server's; what they may is not."""
    second = Hub(hub.server)
    try:
        elsewhere = hub.owner.replace(f"/{hub.database}", f"/{second.database}")
        assert sql(elsewhere, "select name from recalld.members") == []
        with Remote(elsewhere) as remote, pytest.raises(HubError, match="belongs to no member"):
            remote.whoami()
    finally:
        second.server.drop(second.database)


def test_the_audit_tells_each_what_he_may_know_and_no_text(hub: Hub) -> None:
    ana, bob = hub.member("ana"), hub.member("bob")
    with hub.device(ana, "phone") as one, hub.device(bob) as other:
        mine = one.whoami().stream
        for remote in (one, other):
            remote.share(REPO)
        private, shared = item(mine, "private canary"), item(REPO, "shared canary", client="claude-code")
        one.push([private, shared])
        other.push([item(REPO, deleted=True, id_=shared.id)])
    by = {name: admin.audit(dsn, None, 100) for name, dsn in (("olga", hub.owner), ("ana", ana), ("bob", bob))}
    told = [(entry.member, entry.device, entry.action, entry.id) for entry in by["olga"]]
    assert told[:2] == [("bob", "laptop", "delete", shared.id), ("ana", "phone", "push", shared.id)]
    assert {entry.action for entry in by["olga"]} >= {"push", "delete", "share", "join", "member-add"}
    assert private.id in {entry.id for entry in by["ana"]}
    assert private.id not in {entry.id for entry in by["olga"] + by["bob"]}
    assert shared.id in {entry.id for entry in by["bob"]}
    assert [entry.about for entry in by["bob"] if entry.action == "member-add"] == ["bob"]
    assert "canary" not in str(by)
    newest = by["olga"][0].at
    assert len(admin.audit(hub.owner, newest, 100)) == 1
    assert len(admin.audit(hub.owner, None, 3)) == 3


def test_export_is_all_of_oneself_and_nothing_of_others(hub: Hub) -> None:
    ana, bob = hub.member("ana"), hub.member("bob")
    with hub.device(ana) as one, hub.device(bob) as other:
        for remote in (one, other):
            remote.share(REPO)
        one.push(
            [item(one.whoami().stream, "ana's secret", steps=steps("older secret")), item(REPO, "ana's in the shop")]
        )
        other.push([item(other.whoami().stream, "bob's secret"), item(REPO, "bob's in the shop")])
    told = msgspec.json.decode(msgspec.json.encode(admin.export(ana)))
    assert told["org"]["name"] == "acme"
    assert told["member"]["name"] == "ana"
    assert [device["name"] for device in told["devices"]] == ["laptop"]
    assert [share["stream"] for share in told["shares"]] == [REPO]
    assert [memory["body"]["content"] for memory in told["memories"]] == ["ana's secret", "ana's in the shop"]
    assert "older secret" in str(told["events"])
    assert "bob" not in str(told)


def test_who_is_erased_leaves_no_word_and_no_name_behind(hub: Hub) -> None:
    ana, bob = hub.member("anastasia"), hub.member("bob")
    with hub.device(ana, "anastasia's phone") as one, hub.device(bob) as other:
        for remote in (one, other):
            remote.share(REPO)
        mine, shared, dead = (item(one.whoami().stream, "hercanary", steps=steps("hercanary 0")), item(REPO, "hercanary 2"),
                              item(REPO, "hercanary 3"))  # fmt: skip
        his = item(REPO, "bob's", steps=steps("first"))
        one.push([mine, shared, dead])
        other.push([his])
        one.push(
            [
                item(REPO, "bob's, mended", id_=his.id, base_version=1, steps=steps("hercanary 4")),
                item(REPO, deleted=True, id_=dead.id),
            ]
        )
        cursor = other.pull(REPO, 0).cursor
        admin.remove(hub.owner, "anastasia", erase=True)
        page = other.pull(REPO, cursor)
        assert [gone.id for gone in page.withdrawn] == [shared.id]
        assert other.push([item(REPO, "back again?", id_=dead.id, base_version=1)])[0].outcome == "gone"
        assert [row.body["content"] for row in other.pull(REPO, 0).rows if row.body] == ["bob's, mended"]
    for table in ("members", "devices", "memories", "events", "withdrawals", "project_shares"):
        left = str(hub.query(f"select t::text from recalld.{table} t"))
        assert "hercanary" not in left
        assert "anastasia" not in left
        assert mine.id not in left
    hub.member("anastasia")  # the name is free again


def test_each_name_in_the_list_of_members_is_told_what_it_may_know(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(bob):
        pass
    assert [(one.name, one.role, one.devices, one.last_seen_at is not None) for one in admin.members(bob)] == [
        ("olga", "owner", (), False), ("bob", "member", ("laptop",), True),
    ]  # fmt: skip
    assert admin.members(hub.owner)[1].last_seen_at
    with hub.device(hub.owner):
        pass
    assert admin.members(bob)[0].last_seen_at is None
