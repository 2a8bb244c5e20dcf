"""The hub as a device sees it. PostgreSQL guards what it gives and takes; nothing here is a guard."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, LiteralString, Self

import psycopg
from psycopg import sql
from psycopg.types.json import set_json_loads
from psycopg_pool import ConnectionPool, PoolTimeout

from recalld.hub import rows
from recalld.hub.connection import (
    CONNECT_S,
    LONG_S,
    STATEMENT_S,
    Connection,
    Mode,
    Way,
    alive,
    connect,
    listen,
    transaction,
    way,
)
from recalld.hubwire import MAX_ITEMS, MAX_STEPS, HubError, Item, Me, Page, Result, Withdrawn

SCHEMA = 4
"""The version of the hub's schema that this program needs."""
_WAKINGS = 1_000
"""So many of them are heard as one."""
_PAGE = sql.SQL("""
copy (
  with page as (
    (select id, seq, version, deleted, body, sealed, digest, member_id, device_id, client, false as mine
     from recalld.memories where org_id = {org} and stream = {stream} and seq > {cursor} order by seq limit {most})
    union all
    (select id, seq, null, null, null, null, null, null, null, null, owner = {me}
     from recalld.withdrawals where org_id = {org} and stream = {stream} and seq > {cursor} order by seq limit {most})
    order by seq limit {most}
  )
  select p.id, p.seq, p.version, p.deleted, p.body, p.sealed, p.digest, m.name, d.name, p.client, s.steps, p.mine
  from page p
  left join recalld.members m on m.member_id = p.member_id
  left join recalld.devices d on d.device_id = p.device_id
  left join lateral (
    select jsonb_agg(jsonb_build_object(
      'who', (select name from recalld.members where member_id = e.member_id) || '/'
             || (select name from recalld.devices where device_id = e.device_id),
      'steps', e.body, 'sealed', encode(e.sealed, 'base64')) order by e.seq) as steps
    from (select seq, member_id, device_id, body, sealed from recalld.events
          where org_id = {org} and id = p.id and stream = {stream} and seq > {cursor} and action = 'push'
          order by seq desc limit {history}) e
  ) s on p.version > 0 and not p.deleted
  order by p.seq
) to stdout (format binary)""")
_PAGE_TYPES = ("text", "int8", "int8", "bool", "jsonb", "bytea", "bytea", "text", "text", "text", "jsonb", "bool")


class Remote:
    """A device's connections to the hub: one for its work, one that listens. Not for several threads at once.

    The pool of one looks whether that one still answers, replaces it, and lets it go where it rests.
    All methods raise HubError.
    """

    def __init__(self, dsn: str, *, passfile: str = "", device_id: str | None = None) -> None:
        """Connects when first needed. device_id: a UUID, once it is registered."""
        self._way: Way = way(dsn, passfile)
        self._device_id = device_id
        self._me: Me | None = None
        self._pool: ConnectionPool[Connection] | None = None
        self._ear: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up all connections; the next call makes new ones."""
        if self._ear:
            self._ear.close()
        if self._pool:
            self._pool.close(timeout=CONNECT_S)
        self._ear = self._pool = None

    def whoami(self) -> Me:
        """Whom the hub takes the login for; device_id is None where the device is not registered."""
        with self._transaction() as hub:
            _check_version(hub)
            found = _only(
                hub.execute(
                    "select org_id, org, member_id, member, role, sealed, device from recalld.whoami(%s::uuid)",
                    (self._device_id,),
                )
            )
        org_id, org, member_id, member, role, sealed, device = found
        self._me = Me(
            org_id=str(org_id), org=org, member_id=str(member_id), member=member, role=role,
            device_id=self._device_id if device else None, device=device, sealed=sealed,
        )  # fmt: skip
        return self._me

    def register_device(self, device_id: str, name: str) -> Me:
        """Make this device the member's, or greet it again under `name`."""
        self._do("select recalld.register_device(%s::uuid, %s)", device_id, name)
        self._device_id = device_id
        return self.whoami()

    def pull(self, stream: str, cursor: int, limit: int = 500) -> Page:
        """What happened in a stream behind `cursor`; nothing where the stream is not the member's to read."""
        me, limit = self._me or self.whoami(), min(limit, MAX_ITEMS)
        words = {"org": me.org_id, "me": me.member_id, "stream": stream, "cursor": cursor, "most": limit + 1,
                 "history": MAX_STEPS}  # fmt: skip
        query = _PAGE.format(**{name: sql.Literal(value) for name, value in words.items()})
        with self._transaction("read only") as hub, hub.cursor().copy(query) as copy:
            set_json_loads(rows.loads, copy.cursor)
            copy.set_types(_PAGE_TYPES)
            found = list(copy.rows())
        given = found[:limit]
        return Page(
            stream=stream,
            begins=cursor,
            rows=tuple(rows.row(stream, row) for row in given if row[2] is not None),
            withdrawn=tuple(Withdrawn(row[0], row[1], mine=row[-1]) for row in given if row[2] is None),
            cursor=given[-1][1] if given else cursor,
            more=len(found) > limit,
        )

    def news(self, cursors: Mapping[str, int]) -> frozenset[str]:
        """The streams that have something behind their cursors: cheaper than to pull each in vain."""
        given = list(cursors), list(cursors.values())
        with self._transaction("read only") as hub:
            found = hub.execute("select n from recalld.news(%s::text[], %s::bigint[]) n", given).fetchall()
        return frozenset(stream for (stream,) in found)

    def mark(self) -> str:
        """A sign of all that the hub knows now, for `knows`."""
        with self._transaction("read only") as hub:
            return str(_only(hub.execute("select recalld.mark()"))[0])

    def knows(self, mark: str) -> bool:
        """Whether the hub has been there; it has not where it was restored from an older backup, whoever wrote since."""
        with self._transaction("read only") as hub:
            return bool(_only(hub.execute("select recalld.knows(%s)", (mark,)))[0])

    def push(self, items: Sequence[Item]) -> list[Result]:
        """Hand up at most MAX_ITEMS changes, in one transaction; what became of each, in their order."""
        texts = [rows.text(item) for item in items]
        batch = uuid.uuid4()
        with self._transaction() as hub:
            with hub.cursor().copy("copy recalld.incoming (batch, n, item) from stdin") as copy:
                for n, text in enumerate(texts):
                    if text:
                        copy.write_row((batch, n, text))
            found = hub.execute(
                "select n, outcome, version, reason from recalld.push(%s, %s::uuid)", (batch, self._device_id)
            ).fetchall()
        told = {n: (outcome, version, reason or "") for n, outcome, version, reason in found}
        unsendable = ("refused", 0, "it is too large, or holds characters that cannot be stored")
        return [rows.result(item.id, *told.get(n, unsendable)) for n, item in enumerate(items)]

    def withdraw(self, stream: str, ids: Sequence[str]) -> list[Result]:
        """Take own memories back from a stream; what became of each, in no order."""
        told: list[Result] = []
        for first in range(0, len(ids), MAX_ITEMS):
            given = self._device_id, stream, list(ids[first : first + MAX_ITEMS])
            with self._transaction() as hub:
                found = hub.execute(
                    "select id, outcome, version, reason from recalld.withdraw(%s::uuid, %s, %s::text[])", given
                ).fetchall()
            told += [rows.result(*row) for row in found]
        return told

    def share(self, stream: str) -> None:
        """Follow a project's stream on this device; for `user` and `org`, only note that it sends."""
        self._do("select recalld.share(%s::uuid, %s)", self._device_id, stream)

    def unshare(self, stream: str, *, delete_mine: bool = False) -> None:
        """Undo `share`; with delete_mine, take back what the member shared there."""
        self._do("select recalld.unshare(%s::uuid, %s, %s)", self._device_id, stream, delete_mine, seconds=LONG_S)

    def streams(self) -> list[tuple[str, int]]:
        """The streams that the member may read, each with the number of its memories."""
        with self._transaction("read only") as hub:
            return hub.execute(
                """select s.stream, (select count(*) from recalld.memories m where m.org_id = recalld.my_org()
                                     and m.stream = s.stream and not m.deleted)
                   from unnest(recalld.my_streams()) s (stream) order by 1"""
            ).fetchall()

    def set_seal_check(self, check: bytes) -> None:
        """Say, once, that the member's `user` scope is sealed, and what tells his devices the key."""
        self._do("select recalld.set_seal_check(%s::bytea)", check)

    def clear_rows(self, stream: str) -> int:
        """How many memories and steps of a stream the hub holds in the clear."""
        with self._transaction("read only") as hub:
            row = hub.execute(
                """select (select count(*) from recalld.memories where stream = %(stream)s and body is not null)
                        + (select count(*) from recalld.events where stream = %(stream)s and body is not null)""",
                {"stream": stream},
            )
            return int(_only(row)[0])

    def leave(self, *, delete_mine: bool = False) -> None:
        """Take the device out; with delete_mine, all that the member shared too."""
        self._do("select recalld.leave(%s::uuid, %s)", self._device_id, delete_mine, seconds=LONG_S)

    def wait(self, timeout_s: float) -> bool:
        """Until something changed in the org, or may have: right after connecting, that is at once.

        What was told meanwhile is heard once.
        """
        if self._ear is None:
            me = self._me or self.whoami()
            self._ear = listen(self._way, "recalld_" + me.org_id.replace("-", ""))
            return True
        try:
            heard = _hears(self._ear, timeout_s)
            for _ in range(_WAKINGS):  # no further: somebody may tell without end
                if not _hears(self._ear, 0):
                    break
            return heard
        except psycopg.Error:
            self._ear.close()
            self._ear = None
            raise HubError(f"the hub at {self._way}: the connection is lost", away=True) from None

    def _do(self, query: LiteralString, *values: object, seconds: float = STATEMENT_S) -> None:
        with self._transaction(seconds=seconds) as hub:
            hub.execute(query, values)

    @contextlib.contextmanager
    def _transaction(self, mode: Mode = "read write", seconds: float = STATEMENT_S) -> Iterator[Connection]:
        if self._pool is None:
            connect(self._way).close()  # the pool would only say that it waited in vain; this says why
            self._pool = ConnectionPool(
                self._way.line, kwargs={"prepare_threshold": None}, min_size=0, max_size=1, max_idle=120, num_workers=1,
                reconnect_timeout=CONNECT_S, check=alive, open=True,
            )  # fmt: skip
        try:
            with self._pool.connection(timeout=2 * CONNECT_S) as hub, transaction(hub, self._way, mode, seconds):
                yield hub
        except PoolTimeout:
            self.close()
            raise HubError(f"the hub at {self._way} does not answer", away=True) from None
        except HubError as error:
            if error.away:
                self.close()
            raise


def _only(cursor: psycopg.Cursor[tuple[Any, ...]]) -> tuple[Any, ...]:
    row = cursor.fetchone()
    assert row is not None
    return row


def _check_version(hub: Connection) -> None:
    """Raises HubError where this program and the hub's schema do not fit; before anything else is asked of it."""
    version, serves = _only(
        hub.execute("select coalesce(max(version), 0), coalesce(max(serves), 0) from recalld.migrations")
    )
    if version < SCHEMA:
        raise HubError(
            f"the hub's schema has version {version}, this program needs {SCHEMA}: "
            "its administrator runs `recalld hub init` again"
        )
    if serves > SCHEMA:
        raise HubError(
            f"the hub serves programs from its schema {serves} on, and this one is of {SCHEMA}: upgrade recalld here"
        )


def _hears(ear: Connection, timeout_s: float) -> bool:
    return any(True for _ in ear.notifies(timeout=timeout_s, stop_after=1))
