"""Random work on several devices, broken off and mixed up at every step: all of them come to the same in the end.

The same few examples each time; with FUZZ_SECONDS new ones, for so long. The hub is the one in memory, and in a few
examples a real PostgreSQL.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import random
import tempfile
import time
import unittest.mock
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pg
from hub_house import SHOP, Device, FakeHub
from recalld.config import ConflictConfig
from recalld.errors import RecalldError
from recalld.hub import sync
from recalld.hub.postgres import Remote
from recalld.hubwire import ORG, Item, Result, user_stream
from recalld.store import hub as table

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
pytestmark = pytest.mark.timeout(0 if SECONDS else 120)
TEAM = (("ann", "laptop"), ("bob", "laptop"), ("ann", "tower"), ("bob", "tower"), ("ann", "phone"))
ROLES = {"ann": "maintainer", "bob": "member"}
ROUNDS = 12
"""After so many rounds in which every device synchronised, nothing may move any more."""
POOL = ("The shop sells soup.", "The shop opens at eight.", "The orders service listens on port 8080.")
POLICIES = ("merge-mark", "last-write-wins", "source-priority")


class BrokenOffError(Exception):
    """The process is gone."""


class World:
    """Devices, their hub, and what was done to them.

    written: each text that was ever in a memory, with the memories' ids. public, shared: texts that were ever where they
    may be sent, and where others may see them. by: texts that a member's own devices have written. private: texts of
    memories that were kept back. excused: texts that are gone on purpose.
    """

    def __init__(self, folder: Path, hub: Any, devices: int, template: bytes) -> None:
        self.hub, self.devices = hub, []
        for member, name in TEAM[:devices]:
            (folder / f"{member}-{name}.db").write_bytes(template)
            device = Device(folder, member, name, ROLES[member])
            device.member_id = hub.member_id(member)
            self.devices.append(device.join("user", "project", *(["org"] if member == "ann" else [])))
        self.own = {user_stream(hub.member_id(member)): {member} for member in ROLES}
        self.written: dict[str, set[str]] = defaultdict(set)
        self.by: dict[str, set[str]] = defaultdict(set)
        self.public: set[str] = set()
        self.shared: set[str] = set()
        self.private: set[str] = set()
        self.excused: set[str] = set()
        self.deleted: set[str] = set()
        self.ever_deleted: set[str] = set()
        self.deleters: dict[str, set[str]] = defaultdict(set)
        self.edited_elsewhere: set[tuple[str, str]] = set()
        self.stash: list[tuple[str, Device, Any]] = []
        self.copies: dict[str, tuple[bytes, set[str]]] = {}
        self.numbers = itertools.count()

    # What is done

    def do(self, kind: str, which: int, pick: int, extra: int) -> None:
        """One operation on one device, and a look at what is written everywhere."""
        device = self.devices[which % len(self.devices)]
        few = "select id from memories where status <> 'deleted' order by id limit 3"  # so that devices meet in them
        ids = [row[0] for row in device.db.execute(few)]
        memory_id = ids[pick % len(ids)] if ids else None
        before = self.held(device)
        with contextlib.suppress(BrokenOffError, RecalldError):
            if kind in ALONE:
                ALONE[kind](self, device, extra)
            elif memory_id:
                self.note_org(device, memory_id)
                ONE[kind](self, device, memory_id, extra)
        device.call("hub-state")  # as the daemon does soon: what plain SQL did is followed
        if kind not in SYNCING:
            self.by[device.member] |= self.held(device) - before
        self.look()

    def held(self, device: Device) -> set[str]:
        """All texts in the device's memories and their histories."""
        found = device.db.execute("select content from memories union select content from history")
        return {row[0] for row in found} - {""}

    def look(self) -> None:
        """Remember what is written where."""
        for device in self.devices:
            for one, text, scope, project, status, kept in device.db.execute(
                "select id, content, scope, project_id, status, local_only from memories where content <> ''"
            ):
                self.written[text].add(one)
                sends = any(
                    s.sends and s.place == (scope, project) for s in _streams(device)
                ) and not kept and status != "pending"  # fmt: skip
                (self.public if sends else self.private).add(text)
                if sends and scope != "user":
                    self.shared.add(text)

    def note_org(self, device: Device, memory_id: str) -> None:
        """A member may not write for the organisation: what he does there stays with him."""
        found = device.get(memory_id)
        if found and found.scope == "org" and device.role == "member":
            self.edited_elsewhere.add((device.path.name, memory_id))

    def sentence(self, device: Device, extra: int) -> str:
        """A sentence that nobody has said, or, now and then, one that many say."""
        number = next(self.numbers)
        return (
            POOL[extra % len(POOL)]
            if extra % 7 == 0
            else f"Word{number}x of {device.member} is q{number * 7919 % 1000}z."
        )

    def add(self, device: Device, extra: int) -> None:
        scope = ("user", "project", "project", "org")[extra % 4]
        device.add(self.sentence(device, extra), "user" if scope == "org" and device.role == "member" else scope)

    def edit(self, device: Device, memory_id: str, extra: int) -> None:
        device.call("edit", id=memory_id, text=self.sentence(device, extra))

    def edit_plainly(self, device: Device, memory_id: str, extra: int) -> None:
        device.plain_sql("update memories set content = ? where id = ?", self.sentence(device, extra), memory_id)

    def delete(self, device: Device, memory_id: str, extra: int) -> None:
        if extra % 3:
            device.call("delete", ids=[memory_id])
        else:
            device.plain_sql("delete from memories where id = ?", memory_id)
        self.deleted.add(memory_id)
        self.deleters[memory_id].add(device.member)
        self.ever_deleted.add(memory_id)

    def pin(self, device: Device, memory_id: str, extra: int) -> None:
        device.call("pin" if extra % 2 else "unpin", ids=[memory_id])

    def tag(self, device: Device, memory_id: str, extra: int) -> None:
        device.call("tag", id=memory_id, add=[f"t{extra % 5}"], remove=[f"t{(extra + 1) % 5}"])

    def move(self, device: Device, memory_id: str, extra: int) -> None:
        scope = ("user", "project", "org", "other")[extra % 4]
        if scope == "org" and device.role == "member":
            return
        project = {"project": "shop", "other": "other"}.get(scope)
        device.call("move", ids=[memory_id], project=project, scope=None if project else scope)

    def set_plainly(self, device: Device, memory_id: str, extra: int) -> None:
        change = ("local_only = 1", "local_only = 0", "status = 'pending'", "status = 'active'", "pinned = 1",
                  "type = 'lesson'", "confidence = 0.7")[extra % 7]  # fmt: skip
        device.plain_sql(f"update memories set {change} where id = ? and status in ('active', 'pending')", memory_id)

    def supersede(self, device: Device, memory_id: str, extra: int) -> None:
        others = [one for (one,) in device.db.execute(
            "select id from memories where status = 'active' and id <> ? order by seq", (memory_id,))]  # fmt: skip
        if others:
            device.plain_sql(
                "update memories set status = 'superseded', superseded_by = ?, pinned = 0 where id = ?",
                others[extra % len(others)], memory_id,
            )  # fmt: skip

    def shelve(self, device: Device, memory_id: str, extra: int) -> None:
        device.call("archive" if extra % 2 else "restore", ids=[memory_id])

    def resolve(self, device: Device, extra: int) -> None:
        for one in device.call("conflicts", project="all")[:1]:
            for side in ("older", "newer"):
                self.note_org(device, one[side]["id"])
            device.call("resolve", conflict=one["conflict_id"], keep=("A", "B", "both")[extra % 3])

    def share(self, device: Device, extra: int) -> None:
        if extra % 2:
            device.call("hub-share", scope="project", project="shop")
        else:
            device.call("hub-unshare", scope="project", project="shop", delete_mine=extra % 4 == 0)

    def clock(self, device: Device, extra: int) -> None:
        device.skew = timedelta(days=(extra % 7 - 3) * 365)

    def policy(self, device: Device, extra: int) -> None:
        device.policy = ConflictConfig(policy=POLICIES[extra % 3])  # type: ignore[arg-type]

    def sync(self, device: Device, extra: int) -> None:
        device.sync(self.hub)

    def break_off(self, device: Device, extra: int) -> None:
        """A cycle that ends before or after one of its steps."""
        left = [extra // 2 % 16]

        def counted(step: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(step)
            def taken(*args: Any, **kwargs: Any) -> Any:
                left[0] -= 1
                if left[0] == -1 and extra % 2:
                    raise BrokenOffError
                answer = step(*args, **kwargs)
                if left[0] == -1:
                    raise BrokenOffError
                return answer

            return taken

        remote = self.hub.remote(device.member, device.name)
        for name in ("knows", "mark", "news", "pull", "push", "withdraw", "share", "unshare"):
            setattr(remote, name, counted(getattr(remote, name)))
        sync.cycle(counted(device.call), remote, page=1 + extra % 3)

    def pull_ahead(self, device: Device, extra: int) -> None:
        """Fetch a page that is taken in at another time, or never."""
        stream = _streams(device)[extra % len(_streams(device))]
        page = self.hub.remote(device.member, device.name).pull(stream.stream, stream.cursor, 1 + extra % 4)
        self.stash.append(("page", device, page))

    def push_ahead(self, device: Device, extra: int) -> None:
        """Send what waits, and hear of it at another time; or only prepare it."""
        items = msgspec.convert(device.call("hub-outbox", limit=1 + extra % 4)["items"], list[Item])
        self.stash.append(("items", device, items))
        if extra % 2:
            self.later(device, -1)

    def later(self, device: Device, extra: int) -> None:
        """Do one of the steps that were put off."""
        if not self.stash:
            return
        kind, device, what = self.stash.pop(extra % len(self.stash))
        if kind == "page":
            device.call("hub-take", page=msgspec.to_builtins(what))
            if extra % 3 == 0:
                device.call("hub-take", page=msgspec.to_builtins(what))
        elif kind == "items" and what:
            results = self.hub.remote(device.member, device.name).push(what)
            self.stash.append(("results", device, [
                sync._answer(one, item.stream, item.digest) for one, item in zip(results, what, strict=True)]))  # fmt: skip
        elif kind == "results":
            device.call("hub-settle", settled=what)

    def back_up(self, device: Device, extra: int) -> None:
        """Copy the database, or put the copy in its place: what only this device knew since is given up."""
        if device.path.name not in self.copies or extra % 2:
            self.copies[device.path.name] = device.copy(), set()
            return
        self.excused |= self.held(device)
        device.restore(self.copies[device.path.name][0])
        stones = {one for other in self.devices for one in _ids(other, "deleted")}
        self.deleted &= stones | self.hub.deleted()

    # What must be so in the end

    def settle_down(self) -> None:
        """Everybody shares again, and synchronises until nothing moves."""
        for device in self.devices:
            device.call("hub-share", scope="project", project="shop")
        for _ in range(ROUNDS):
            before, moved = self.hub.state(), False
            for device in self.devices:
                done = device.sync(self.hub)
                moved = moved or bool(done.pulled or done.deleted)
            self.look()
            if not moved and self.hub.state() == before:
                return
        raise AssertionError("they never come to rest")

    def check(self) -> None:
        for member in {device.member for device in self.devices}:
            self.check_stream(
                user_stream(self.hub.member_id(member)), [one for one in self.devices if one.member == member]
            )
        self.check_stream(SHOP, self.devices)
        self.check_stream(ORG, self.devices)
        self.check_deleted()
        self.check_nothing_is_lost()
        self.check_privacy()

    def check_stream(self, stream: str, devices: Sequence[Device]) -> None:
        """All who share it hold the same, but for what one keeps back, or may not change."""
        held = {device.path.name: self.rows(device, stream) for device in devices}
        apart = {one for device in devices for one in self.apart(device)}
        sets = [{one: what for one, what in rows.items() if one not in apart} for rows in held.values()]
        assert all(one == sets[0] for one in sets), (stream, held)
        at_hub = {one for one in self.hub.alive(stream) if one not in apart}
        assert sets[0].keys() == at_hub, (stream, sets[0].keys() ^ at_hub)

    def rows(self, device: Device, stream: str) -> dict[str, Any]:
        place = next(one.place for one in _streams(device) if one.stream == stream)
        found = device.db.execute(
            """select id, content, type, status, pinned, tags from memories where scope = ? and project_id is ?
               and status not in ('pending', 'deleted') and not local_only""",
            place,
        )
        return {row[0]: row[1:] for row in found}

    def apart(self, device: Device) -> set[str]:
        """Memories of which this device says that they are not what they are at the hub."""
        kept = {row[0] for row in device.db.execute("select id from memories where local_only or status = 'pending'")}
        refused = {row[0] for row in device.db.execute("select memory from hub_outbox where refused is not null")}
        elsewhere = {one for name, one in self.edited_elsewhere if name == device.path.name}
        if device.role == "member":
            elsewhere |= _ids(device, "deleted") & self.hub.alive(ORG)
        return kept | refused | elsewhere

    def check_deleted(self) -> None:
        """What was taken out of all streams before is the own of who did that; and one deletes only where one may write."""
        alive = {
            one for device in self.devices for stream in _streams(device) for one in self.rows(device, stream.stream)
        }  # fmt: skip
        for one in (self.deleted & alive) - self.hub.withdrawn():
            stream = next(stream for stream in (ORG, SHOP, *self.own) if one in self.hub.alive(stream))
            may_write = {"ann"} if stream == ORG else self.own.get(stream, set(ROLES))
            assert not self.deleters[one] & may_write, (one, stream)

    def check_nothing_is_lost(self) -> None:
        held = set().union(*(self.held(device) for device in self.devices))
        gone = self.ever_deleted | self.hub.withdrawn()
        lost = {text for text, ids in self.written.items() if text not in held | self.excused and not ids & gone}
        assert not lost, lost

    def check_privacy(self) -> None:
        seen = "\n".join(self.hub.seen)
        assert not [text for text in self.private - self.public if text in seen]
        for device in self.devices:
            foreign = self.held(device) - self.by[device.member] - self.shared
            assert not foreign, (device.path.name, foreign)


def _streams(device: Device) -> list[table.Stream]:
    return table.streams(device.db)


def _ids(device: Device, *statuses: str) -> set[str]:
    marks = ", ".join("?" * len(statuses))
    return {row[0] for row in device.db.execute(f"select id from memories where status in ({marks})", statuses)}


ONE: dict[str, Callable[[World, Device, str, int], None]] = {
    "edit": World.edit, "edit plainly": World.edit_plainly, "delete": World.delete, "pin": World.pin, "tag": World.tag,
    "move": World.move, "set plainly": World.set_plainly, "supersede": World.supersede, "shelve": World.shelve,
}  # fmt: skip
SYNCING: dict[str, Callable[[World, Device, int], None]] = {
    "sync": World.sync, "break off": World.break_off, "pull ahead": World.pull_ahead, "push ahead": World.push_ahead,
    "later": World.later,
}  # fmt: skip
ALONE: dict[str, Callable[[World, Device, int], None]] = SYNCING | {
    "add": World.add, "resolve": World.resolve, "share": World.share, "clock": World.clock, "policy": World.policy,
    "back up": World.back_up,
}  # fmt: skip
KINDS = [
    *["add"] * 4, *["edit"] * 6, *["sync"] * 8, *["break off"] * 3, *["delete"] * 2, *["later"] * 2, *ONE, *ALONE,
]  # fmt: skip
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 4), st.integers(0, 7), st.integers(0, 83)),
    min_size=25,
    max_size=70,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with the projects."""
    device = Device(tmp_path_factory.mktemp("template"))
    copy = device.copy()
    device.close()
    return copy


@contextlib.contextmanager
def world(hub: Any, devices: int, template: bytes) -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        made = World(Path(folder), hub, devices, template)
        try:
            yield made
        finally:
            for device in made.devices:
                device.close()


def run(hub: Any, devices: int, operations: Sequence[tuple[str, int, int, int]], template: bytes) -> None:
    dice = random.Random(0)
    ids = unittest.mock.patch("recalld.verbs.remember.new_id", lambda: f"m-{dice.getrandbits(80):020x}")
    with ids, world(hub, devices, template) as made:
        for operation in operations:
            made.do(*operation)
        made.settle_down()
        made.check()


class Real:
    """The real hub, as `World` uses the one in memory."""

    def __init__(self, hub: pg.Hub) -> None:
        self.hub = hub
        self.remotes: dict[tuple[str, str], Remote] = {}
        self.dsns = {member: hub.member(member, role) for member, role in ROLES.items()}
        self.ids = {member: self.connected(member, "laptop").whoami().member_id for member in ROLES}
        self.seen: list[str] = []
        self.taken_back: set[str] = set()

    def connected(self, member: str, device: str) -> Remote:
        if (member, device) not in self.remotes:
            self.remotes[member, device] = self.hub.device(self.dsns[member], device)
        return self.remotes[member, device]

    def remote(self, member: str, device: str) -> Through:
        return Through(self, self.connected(member, device))

    def member_id(self, member: str) -> str:
        return self.ids[member]

    def ids_of(self, condition: str, *values: str) -> set[str]:
        return {row[0] for row in self.hub.query(f"select id from recalld.memories where {condition}", *values)}

    def state(self) -> object:
        return self.hub.query("select version, stream, id from recalld.memories order by id")

    def alive(self, stream: str) -> set[str]:
        return self.ids_of("stream = %s and not deleted", stream)

    def deleted(self) -> set[str]:
        return self.ids_of("deleted")

    def withdrawn(self) -> set[str]:
        return self.taken_back

    def close(self) -> None:
        for remote in self.remotes.values():
            remote.close()
        self.hub.server.drop(self.hub.database)


class Through:
    """A device's connection, which notes what passes."""

    def __init__(self, real: Real, remote: Remote) -> None:
        self.real, self.share, self.pull, self._remote = real, remote.share, remote.pull, remote
        self.mark, self.knows, self.news = remote.mark, remote.knows, remote.news

    def push(self, items: Sequence[Item]) -> list[Result]:
        self.real.seen += [json.dumps(msgspec.to_builtins(item), ensure_ascii=False) for item in items]
        return self._remote.push(items)

    def withdraw(self, stream: str, ids: Sequence[str]) -> list[Result]:
        results = self._remote.withdraw(stream, ids)
        self.real.taken_back |= {one.id for one in results if one.outcome == "stored"}
        return results

    def unshare(self, stream: str, *, delete_mine: bool = False) -> None:
        before = self.real.alive(stream)
        self._remote.unshare(stream, delete_mine=delete_mine)
        self.real.taken_back |= before - self.real.alive(stream)


def examples(number: int) -> Callable[[Any], Any]:
    """So many examples, the same each time; or new ones for SECONDS."""
    chosen = settings(
        max_examples=number, derandomize=not SECONDS, deadline=None, database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip

    def decorated(test: Any) -> Any:
        some = chosen(test)

        @functools.wraps(test)
        def again_and_again(*args: Any, **kwargs: Any) -> None:
            begun = time.monotonic()
            some(*args, **kwargs)
            while time.monotonic() - begun < SECONDS:
                some(*args, **kwargs)

        return again_and_again

    return decorated


@examples(30)
@given(st.integers(3, 5), OPERATIONS)
def test_all_devices_come_to_the_same(template: bytes, devices: int, operations: list[Any]) -> None:
    """B81, B94: nothing lost, nothing back from the dead, nothing private sent, whatever broke off in whatever order."""
    run(FakeHub(**ROLES), devices, operations, template)


@examples(3)
@given(st.integers(3, 5), OPERATIONS)
def test_all_devices_come_to_the_same_by_a_real_hub(template: bytes, devices: int, operations: list[Any]) -> None:
    """So the hub in memory is held equal to the real one."""
    real = Real(pg.Hub(pg.server()))
    try:
        run(real, devices, operations, template)
    finally:
        real.close()
