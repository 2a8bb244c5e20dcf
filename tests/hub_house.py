"""Devices of a team for the tests of the hub: real databases worked on by the real verbs, and a hub in memory.

`FakeHub` keeps the promises of the PostgreSQL side; `test_hub_converge.py` runs the same against the real one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recalld.carried import Step
from recalld.config import Config, ConflictConfig, PrivacyConfig
from recalld.hub import sync
from recalld.hubwire import ORG, Item, Outcome, Page, Result, Row, Withdrawn, user_stream
from recalld.model import Memory, timestamp
from recalld.redact import Redactor
from recalld.store import changes, memories
from recalld.store.connection import open_writer, transaction
from recalld.store.migrate import migrate
from recalld.verbs.context import Context
from recalld.verbs.registry import VERBS

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
AT = timestamp(NOW)
IDENTITY = "remote:github.com/acme/shop"
SHOP = f"project:{IDENTITY}"


class Stored(msgspec.Struct):
    """A memory at the hub. stream: None while it is withdrawn."""

    stream: str | None
    owner: str
    seq: int
    version: int
    deleted: bool
    body: dict[str, Any] | None
    sealed: bytes | None
    digest: bytes
    member: str
    device: str
    client: str


class FakeHub:
    """One organisation. roles: by member."""

    def __init__(self, **roles: str) -> None:
        self.roles, self.seq = roles, 0
        self.marks: dict[int, str] = {}
        self.rows: dict[str, Stored] = {}
        self.withdrawals: list[tuple[int, str, str]] = []
        self.steps: list[tuple[int, str, str, str, Step]] = []
        self.shares: set[tuple[str, str, str]] = set()
        self.seen: list[str] = []
        self.taken_back: set[str] = set()

    def next(self) -> int:
        self.seq += 1
        self.marks[self.seq] = secrets.token_hex(4)
        return self.seq

    def let_go(self, memory_id: str, stream: str) -> None:
        """A memory leaves its stream."""
        self.withdrawals = [one for one in self.withdrawals if one[1:] != (stream, memory_id)]
        self.withdrawals.append((self.next(), stream, memory_id))
        self.steps = [step for step in self.steps if step[1] != memory_id]

    def may_read(self, member: str, stream: str | None) -> bool:
        return stream in (ORG, user_stream(member)) or (stream, member) in {one[:2] for one in self.shares}

    def may_write(self, member: str, stream: str | None) -> bool:
        return self.may_read(member, stream) and (stream != ORG or self.roles[member] != "member")

    def member_id(self, member: str) -> str:
        """What the member's stream is named by."""
        return member

    def state(self) -> object:
        """What is another after each change."""
        return self.seq, frozenset(self.shares)

    def alive(self, stream: str) -> set[str]:
        """The memories of a stream that are not deleted."""
        return {one for one, row in self.rows.items() if row.stream == stream and not row.deleted}

    def deleted(self) -> set[str]:
        """The memories that were deleted."""
        return {one for one, row in self.rows.items() if row.deleted}

    def withdrawn(self) -> set[str]:
        """The memories that ever left a stream without going into another."""
        return self.taken_back

    def remote(self, member: str, device: str) -> FakeRemote:
        return FakeRemote(self, member, device)


class FakeRemote:
    """The hub as one device sees it."""

    def __init__(self, hub: FakeHub, member: str, device: str) -> None:
        self.hub, self.member, self.device = hub, member, device

    def share(self, stream: str) -> None:
        if stream.startswith("project:"):
            self.hub.shares.add((stream, self.member, self.device))

    def unshare(self, stream: str, *, delete_mine: bool = False) -> None:
        if delete_mine:
            rows = sorted(self.hub.rows.items(), key=lambda one: one[1].seq)
            mine = [one for one, row in rows if (row.stream, row.owner) == (stream, self.member) and not row.deleted]
            self.withdraw(stream, mine)
        self.hub.shares.discard((stream, self.member, self.device))

    def mark(self) -> str:
        return f"{self.hub.seq}@{self.hub.marks.get(self.hub.seq, '')}"

    def knows(self, mark: str) -> bool:
        seq, _, sign = mark.partition("@")
        return self.hub.marks.get(int(seq), "") == sign

    def news(self, cursors: Mapping[str, int]) -> frozenset[str]:
        hub = self.hub
        ends = [(row.stream, row.seq) for row in hub.rows.values()] + [
            (where, seq) for seq, where, _ in hub.withdrawals
        ]
        return frozenset(
            one for one, seen in cursors.items()
            if hub.may_read(self.member, one) and any(where == one and seq > seen for where, seq in ends)
        )  # fmt: skip

    def pull(self, stream: str, cursor: int, limit: int = 500) -> Page:
        hub = self.hub
        if not hub.may_read(self.member, stream):
            return Page(stream=stream, begins=cursor, cursor=cursor)
        rows = [(row.seq, one) for one, row in hub.rows.items() if row.stream == stream and row.seq > cursor]
        gone = [(seq, one) for seq, where, one in hub.withdrawals if where == stream and seq > cursor]
        found = sorted([*rows, *gone])
        chosen = found[:limit]
        return Page(
            stream=stream, begins=cursor, cursor=chosen[-1][0] if chosen else cursor, more=len(found) > limit,
            rows=tuple(self._row(one, cursor) for one in sorted(rows) if one in chosen),
            withdrawn=tuple(
                Withdrawn(one, seq, hub.rows[one].owner == self.member)
                for seq, one in sorted(gone) if (seq, one) in chosen
            ),
        )  # fmt: skip

    def _row(self, place: tuple[int, str], cursor: int) -> Row:
        seq, one = place
        row = self.hub.rows[one]
        assert row.stream
        told = [
            msgspec.structs.replace(step, actor=f"{who}:{step.actor}")
            for at, memory, where, who, step in self.hub.steps if memory == one and where == row.stream and at > cursor
        ]  # fmt: skip
        return Row(
            id=one, stream=row.stream, seq=seq, version=row.version, deleted=row.deleted, body=row.body,
            sealed=row.sealed, digest=row.digest, member=row.member, device=row.device, client=row.client,
            steps=tuple(told),
        )  # fmt: skip

    def push(self, items: Sequence[Item]) -> list[Result]:
        self.hub.seen += [json.dumps(msgspec.to_builtins(item), ensure_ascii=False) for item in items]
        return [self._push(item) for item in items]

    def _push(self, item: Item) -> Result:
        """As `take_item` in hub/schema does it, line by line."""
        hub, row = self.hub, self.hub.rows.get(item.id)
        had = row.stream if row else None

        def said(outcome: Outcome, reason: str = "") -> Result:
            version = 0 if outcome == "refused" or row is None else row.version
            return Result(id=item.id, outcome=outcome, version=version, reason=reason)

        if "\0" in json.dumps(msgspec.to_builtins(item), ensure_ascii=False):
            return said("refused", "it holds characters that cannot be stored")
        if not item.deleted and item.body and item.body.scope != item.stream.partition(":")[0]:
            return said("refused", "its scope is not that of the stream")
        if not hub.may_write(self.member, item.stream):
            return said("refused", "this stream is not shared with you")
        if (
            row
            and (row.owner != self.member or had == item.stream)
            and not hub.may_write(self.member, had or item.stream)
        ):
            return said("refused", "this stream is not shared with you")
        if row and had is None and row.owner != self.member:
            if not item.deleted and item.base_version:
                return Result(id=item.id, outcome="stale")
            return said("refused", "another member has taken it back")
        if row and row.deleted:
            return said("same" if item.deleted else "gone")
        if row and had and not item.deleted and item.base_version != row.version:
            return said("same" if item.digest == row.digest and item.stream == had else "stale")
        if row is None and not item.deleted and item.base_version:
            return said("stale")
        moves = had is not None and had != item.stream and not item.deleted
        if (
            row
            and moves
            and row.owner != self.member
            and (item.stream[:5] == "user:" or hub.roles[self.member] == "member")
        ):
            return said("refused", "only who shared it, or a maintainer, takes it out of where it is")
        target = (had or item.stream) if item.deleted else item.stream
        if moves:
            hub.let_go(item.id, str(had))
        if item.deleted:
            hub.steps = [one for one in hub.steps if one[1] != item.id]
        hub.withdrawals = [one for one in hub.withdrawals if one[1:] != (target, item.id)]
        row = Stored(
            stream=target, owner=row.owner if row else self.member, seq=hub.next(), deleted=item.deleted,
            version=(row.version if row else 0) + 1, sealed=None if item.deleted else item.sealed, digest=item.digest,
            body=None if item.deleted or item.body is None else msgspec.to_builtins(item.body),
            member=self.member, device=self.device, client=item.client,
        )  # fmt: skip
        hub.rows[item.id] = row
        who = f"{self.member}/{self.device}"
        hub.steps += [(row.seq, item.id, target, who, step) for step in item.steps]
        return said("stored")

    def withdraw(self, stream: str, ids: Sequence[str]) -> list[Result]:
        return [self._withdraw(stream, one) for one in ids]

    def _withdraw(self, stream: str, one: str) -> Result:
        row = self.hub.rows.get(one)
        if row is None or (row.stream is None and row.owner == self.member):
            return Result(id=one, outcome="same", version=row.version if row else 0)
        if row.deleted and row.stream == stream and self.hub.may_write(self.member, stream):
            return Result(id=one, outcome="gone", version=row.version)
        if row.stream != stream or row.owner != self.member or row.deleted:
            return Result(id=one, outcome="refused", reason="another member shared it")
        self.hub.let_go(one, stream)
        self.hub.taken_back.add(one)
        row.stream, row.body, row.seq, row.version = None, None, self.hub.seq, row.version + 1
        return Result(id=one, outcome="stored", version=row.version)


class Device:
    """A machine of a member: a database with project `shop`, worked on by the verbs as the daemon does it.

    skew: how far its clock is off.
    """

    def __init__(self, folder: Path, member: str = "ann", name: str = "laptop", role: str = "member") -> None:
        self.member, self.name, self.role, self.member_id = member, name, role, member
        self.path = folder / f"{member}-{name}.db"
        self.backups = folder / f"{member}-{name}-backups"
        self.skew, self.ticks = timedelta(0), 0
        self.policy = ConflictConfig()
        self.local_only: tuple[str, ...] = ()
        self.redact = Redactor(PrivacyConfig()).redact
        self.db = self._opened()

    def _opened(self) -> apsw.Connection:
        db = open_writer(self.path)
        self.backups.mkdir(exist_ok=True)
        migrate(db, self.backups)
        with transaction(db):
            for number, name in ((1, "shop"), (2, "other")):
                db.execute("insert or ignore into projects values (?, ?, ?, ?)", (number, name, AT, AT))
            db.execute("insert or ignore into project_identities values (?, 1)", (IDENTITY,))
        return db

    @property
    def now(self) -> datetime:
        self.ticks += 1
        return NOW + self.skew + timedelta(seconds=self.ticks)

    @property
    def context(self) -> Context:
        config = Config(conflict=self.policy, privacy=PrivacyConfig(local_only=self.local_only))
        return Context(
            config=config, now=self.now, actor="cli", source="cli", batch=None, vectors=None, redact=self.redact,
            home=Path("/nowhere"),
        )  # fmt: skip

    def call(self, verb: str, *, writes: bool = False, batch: str | None = None, **arguments: Any) -> Any:
        """What the verb answers, as plain data, through JSON as over the socket. batch: what `undo` takes back."""
        known = VERBS[verb]
        assert not writes or known.writes, verb
        request = msgspec.convert(json.loads(json.dumps(arguments)), known.request)
        context = dataclasses.replace(self.context, batch=batch)
        with transaction(self.db):
            changes.follow(self.db, None, "sqlite3", None, context.now)
            answer = known.run(self.db, context, request)
            changes.follow(self.db, None, context.actor, batch, context.now)
        return json.loads(msgspec.json.encode(answer))

    def join(self, *scopes: str) -> Device:
        """Join the organisation, and share these scopes (`project`: the shop)."""
        self.call(
            "hub-join", org_id="o", org="acme", member_id=self.member_id, member=self.member, role=self.role,
            device_id=f"{self.member}-{self.name}", device=self.name,
        )  # fmt: skip
        for scope in scopes:
            self.call("hub-share", scope=scope, project="shop" if scope == "project" else None)
        return self

    def sync(self, hub: Any, **options: Any) -> sync.Synced:
        """One whole cycle, in which every row can be taken in."""
        done = sync.cycle(self.call, hub.remote(self.member, self.name), **options)
        assert not done.skipped, self.call("hub-state")["skipped_rows"]
        return done

    def add(self, text: str, scope: str = "user", **more: Any) -> str:
        """Store a sentence; its id."""
        project = "shop" if scope == "project" else None
        made: str = self.call("add", text=text, scope=scope, project=project, **more)["id"]
        return made

    def get(self, memory_id: str) -> Memory | None:
        """The memory of this id."""
        return memories.get(self.db, memory_id)

    def text(self, memory_id: str) -> str | None:
        """Its sentence; empty for a tombstone, None where it is not here."""
        found = self.get(memory_id)
        return None if found is None else found.content

    def texts(self, status: str = "active") -> set[str]:
        """All sentences of this status."""
        return {row[0] for row in self.db.execute("select content from memories where status = ?", (status,))}

    def plain_sql(self, statement: str, *values: Any) -> None:
        """A change by `sqlite3`, which knows nothing of recalld."""
        with contextlib.closing(apsw.Connection(str(self.path))) as db:  # of one process, only one SQLite may open it
            db.execute(statement, values)

    def outbox(self) -> set[str]:
        """What waits."""
        return {row[0] for row in self.db.execute("select memory from hub_outbox where refused is null")}

    def copy(self) -> bytes:
        """The database as a backup has it."""
        self.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        return self.path.read_bytes()

    def restore(self, copy: bytes) -> None:
        """`restore-backup`."""
        self.db.close()
        for part in ("-wal", "-shm"):
            self.path.with_name(self.path.name + part).unlink(missing_ok=True)
        self.path.write_bytes(copy)
        self.db = self._opened()

    def close(self) -> None:
        """End."""
        self.db.close()
