"""The hub as its owners see it: schema, members, audit, export. `init` alone needs the administrator's login.

The schema's versions are the numbered files in `schema/`; one that was released is never edited.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from datetime import datetime
from importlib import resources
from typing import Any, LiteralString, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from recalld.hub.connection import LONG_S, Connection, Mode, Way, connect, transaction, way
from recalld.hubwire import HubError, Role

_LOCK = int.from_bytes(b"recalld", "big")
_OLDEST_SERVER = 14
_LOCK_WAIT_S = 20


class Made(msgspec.Struct, frozen=True):
    """What init did. applied: the schema's versions. created: the org is new; then join is its first owner's DSN."""

    applied: tuple[str, ...]
    org: str
    created: bool
    join: str | None


class Member(msgspec.Struct, frozen=True):
    """A member as the others see him. last_seen_at: told to himself and to owners."""

    name: str
    role: Role
    joined_at: datetime
    removed_at: datetime | None
    devices: tuple[str, ...]
    last_seen_at: datetime | None


class Entry(msgspec.Struct, frozen=True):
    """A line of the audit. about: whom or what the action concerns, where that is no memory."""

    at: datetime
    member: str
    device: str | None
    client: str
    action: str
    stream: str | None
    id: str | None
    version: int | None
    about: str | None


_T = TypeVar("_T", Member, Entry)
SERVES = 4
"""The oldest version of the schema whose programs this one still serves."""


class _Step(NamedTuple):
    version: int
    name: str
    text: str


def init(dsn: str, *, org: str, member: str, program: str) -> Made:
    """Bring schema and roles up to this program's version, and make the org where there is none of that name.

    All in one transaction; several at once wait for one another. program: name and version, noted with what was applied.
    """
    to = way(dsn)
    with _as_administrator(), _connected(to) as hub:
        hub.execute(f"set local lock_timeout = '{_LOCK_WAIT_S}s'")
        hub.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        hub.execute(_roles())
        hub.execute("set local role recalld_owner")
        missing = _missing(hub, to)
        hub.execute("reset role")
        for step in missing:
            hub.execute(_script(step, program))
        hub.execute("set local role recalld_owner")
        join = None
        if hub.execute("select from recalld.orgs where name = %s", (org,)).fetchone() is None:
            password, verifier = _password(hub)
            role = _only(hub, "select recalld.org_add(%s, %s, %s)", org, member, verifier)
            join = _dsn(hub, to, role, password)
        return Made(tuple(step.name for step in missing), org, join is not None, join)


def init_sql(dsn: str) -> str:
    """The SQL that `init` would run, but for the org itself; nothing is changed."""
    to = way(dsn)
    with _as_administrator(), _connected(to, "read only") as hub:
        missing = _missing(hub, to)
    parts = ["begin;", _roles(), *(_script(step, "recalld") for step in missing), "commit;"]
    return "\n".join(parts) if missing else "-- the hub's schema is this program's already\n"


def members(dsn: str, passfile: str = "") -> list[Member]:
    """The members of the org, removed ones last."""
    with _connected(way(dsn, passfile)) as hub:
        return _listed(hub, Member, "recalld.member_list()")


def add(dsn: str, name: str, role: Role, passfile: str = "") -> str:
    """A new member; returns the DSN he joins with, which is nowhere else. Needs an owner's login, as the next three."""
    to = way(dsn, passfile)
    with _connected(to) as hub:
        password, verifier = _password(hub)
        return _dsn(hub, to, _only(hub, "select recalld.member_add(%s, %s, %s)", name, role, verifier), password)


def set_role(dsn: str, name: str, role: Role, passfile: str = "") -> None:
    """Make a member an owner, a maintainer, or a plain member."""
    with _connected(way(dsn, passfile)) as hub:
        hub.execute("select recalld.member_role(%s, %s)", (name, role))


def remove(dsn: str, name: str, *, erase: bool = False, passfile: str = "") -> None:
    """End a membership at once, in open connections too. erase: forget him, and take back all that he shared."""
    to = way(dsn, passfile)
    for patience_s in (1, 5, 20):
        # Who keeps a transaction open would hold up his own removal, so his connections end first; and once he is
        # removed again, for good.
        with _connected(to) as hub:
            hub.execute("select recalld.member_hang_up(%s)", (name,))
        try:
            with _connected(to) as hub:
                hub.execute(f"set local lock_timeout = '{patience_s}s'")
                role = _only(hub, "select recalld.member_remove(%s, %s)", name, erase)
        except HubError as error:
            if not error.away:
                raise
            held = error
        else:
            with _connected(to) as hub:
                hub.execute("select recalld.member_hang_up(%s)", (role,))
            return
    raise held


def rotate(dsn: str, name: str | None, passfile: str = "") -> str:
    """A new password, for oneself (None) or by an owner for another; returns the new DSN.

    One's own keeps all that it says besides: a certificate, time limits.
    """
    to = way(dsn, passfile)
    with _connected(to) as hub:
        password, verifier = _password(hub)
        role = _only(hub, "select recalld.member_rotate(%s, %s)", name, verifier)
        return make_conninfo(dsn, password=password) if name is None else _dsn(hub, to, role, password)


def audit(dsn: str, since: datetime | None, limit: int, passfile: str = "") -> list[Entry]:
    """Who did what, newest first: what the asking member may know of it."""
    with _connected(way(dsn, passfile)) as hub:
        return _listed(hub, Entry, "recalld.audit(%s, %s)", since, limit)


def export(dsn: str, passfile: str = "") -> dict[str, Any]:
    """All that the hub keeps of the asking member, ready for JSON: org, member, and lists of the rest."""
    found: dict[str, Any] = {"devices": [], "shares": [], "memories": [], "events": []}
    kinds = {"device": "devices", "share": "shares", "memory": "memories", "event": "events"}
    with _connected(way(dsn, passfile)) as hub:
        for kind, item in hub.execute("select kind, item from recalld.export()"):
            if kind in kinds:
                found[kinds[kind]].append(item)
            else:
                found[kind] = item
    return found


@contextlib.contextmanager
def _as_administrator() -> Iterator[None]:
    """Says what the login must be allowed where it is not."""
    try:
        yield
    except HubError as error:
        if not any(words in str(error) for words in ("permission denied", "admin option", "SET ROLE")):
            raise
        raise HubError(
            f"{error}; `hub init` needs a login with CREATEROLE that may create a schema in the database, "
            "and on a server that has a hub already the one that made it, or a superuser's"
        ) from None


@contextlib.contextmanager
def _connected(to: Way, mode: Mode = "read write") -> Iterator[Connection]:
    """A connection for one transaction."""
    with contextlib.closing(connect(to)) as hub:
        if hub.info.server_version < _OLDEST_SERVER * 10_000:
            raise HubError(f"{to} is PostgreSQL {hub.info.server_version // 10_000}; {_OLDEST_SERVER} is the oldest")
        with transaction(hub, to, mode, LONG_S):
            yield hub


def _missing(hub: Connection, to: Way) -> list[_Step]:
    """The versions of the schema that the database lacks. Raises HubError where it has one that is newer than ours."""
    known = _steps()
    there = 0
    if hub.execute("select to_regclass('recalld.migrations')").fetchone() != (None,):
        there = _only(hub, "select coalesce(max(version), 0) from recalld.migrations")
    if there > known[-1].version:
        raise HubError(f"the hub in {to} has schema {there}, this program knows {known[-1].version}: upgrade recalld")
    return [step for step in known if step.version > there]


def _steps() -> list[_Step]:
    files = [file for file in resources.files("recalld.hub").joinpath("schema").iterdir() if file.name[:4].isdigit()]
    steps = (_Step(int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files)
    return sorted(steps)


def _roles() -> str:
    return resources.files("recalld.hub").joinpath("schema", "roles.sql").read_text("utf-8")


def _script(step: _Step, program: str) -> str:
    quoted = psycopg.sql.quote(program)
    return f"""set local role recalld_owner;
{step.text}
insert into recalld.migrations (version, serves, name, program)
values ({step.version}, {SERVES}, '{step.name}', {quoted});
reset role;
"""


def _password(hub: Connection) -> tuple[str, str]:
    """A new password and its verifier, which is all that the server sees of it."""
    password = secrets.token_urlsafe(24)
    return password, hub.pgconn.encrypt_password(password.encode(), b"recalld", b"scram-sha-256").decode()


def _dsn(hub: Connection, to: Way, role: str, password: str) -> str:
    """What a member joins with."""
    query = {name: str(to[name]) for name in ("sslmode", "hostaddr") if name in to}
    host = str(to.get("host") or hub.info.host)
    if "," in host or host.startswith("/"):
        query |= {"host": host, "port": str(to.get("port") or hub.info.port)}
        place = ""
    else:
        place = f"[{host}]" if ":" in host else host
        place += f":{hub.info.port}"
    said = f"?{urlencode(query)}" if query else ""
    return f"postgresql://{role}:{quote(password)}@{place}/{quote(hub.info.dbname)}{said}"


def _only(hub: Connection, query: LiteralString, *values: object) -> Any:
    row = hub.execute(query, values).fetchone()
    assert row is not None
    return row[0]


def _listed(hub: Connection, kind: type[_T], call: LiteralString, *values: object) -> list[_T]:
    """What the function returns, asked for by the names of `kind`: a later hub may return more."""
    names = kind.__struct_fields__
    query = sql.SQL("select {} from " + call).format(sql.SQL(", ").join(map(sql.Identifier, names)))
    return [msgspec.convert(dict(zip(names, row, strict=True)), kind) for row in hub.execute(query, values).fetchall()]
