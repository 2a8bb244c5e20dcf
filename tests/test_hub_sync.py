"""One cycle over its two sides: in what order, in what portions, and what is left when a side gives up."""

from __future__ import annotations

import copy
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hub_house import SHOP, Device, FakeHub, FakeRemote
from recalld.hub import sync
from recalld.hubwire import HubError, Item, Page, Result, Row
from recalld.store import hub as table
from recalld.verbs import hub_body

PATIENCE_S = 30.0


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub(ann="maintainer", bob="member")


@pytest.fixture
def pair(tmp_path: Path) -> Any:
    made = (Device(tmp_path, "ann", "laptop").join("user"), Device(tmp_path, "ann", "tower").join("user"))
    yield made
    for device in made:
        device.close()


def fill(device: Device, number: int) -> set[str]:
    """So many memories by plain SQL, as an import of years leaves them."""
    for n in range(number):
        device.db.execute(
            """insert into memories (id, scope, type, content, source, origin, confidence, status, first_seen, last_seen,
               created_at, updated_at) values (?, 'user', 'fact', ?, 'cli', 'user', 1, 'active', ?3, ?3, ?3, ?3)""",
            (f"m-{n:020x}", f"Fact {n} is word{n}x.", "2026-01-01T00:00:00.000Z"),
        )
    device.call("hub-state")
    return device.texts()


class Noted(FakeRemote):
    """Notes what is asked of the hub; gives up at the step `until`."""

    def __init__(self, hub: FakeHub, device: Device, until: int = -1) -> None:
        super().__init__(hub, device.member, device.name)
        self.asked: list[str] = []
        self.until = until

    def note(self, what: str) -> None:
        self.asked.append(what)
        if len(self.asked) == self.until:
            raise HubError("the hub is away", away=True)

    def news(self, cursors: Mapping[str, int]) -> frozenset[str]:
        self.note("news")
        return super().news(cursors)

    def pull(self, stream: str, cursor: int, limit: int = 500) -> Page:
        self.note(f"pull {stream}")
        return super().pull(stream, cursor, limit)

    def push(self, items: Any) -> list[Result]:
        self.note(f"push {len(items)}")
        return super().push(items)

    def share(self, stream: str) -> None:
        self.note(f"share {stream}")
        super().share(stream)

    def unshare(self, stream: str, *, delete_mine: bool = False) -> None:
        self.note(f"unshare {stream}")
        super().unshare(stream, delete_mine=delete_mine)


def test_shares_are_announced_then_all_is_taken_then_all_is_sent(hub: FakeHub, pair: Any) -> None:
    """And a cycle in which nothing happened looks once, for all streams, and notes nothing."""
    ann, tower = pair
    ann.call("hub-share", scope="project", project="shop")
    ann.add("The shop sells soup.")
    remote = Noted(hub, ann)
    assert sync.cycle(ann.call, remote).pushed == 1
    assert remote.asked == [f"share {SHOP}", "share user:ann", "news", "push 1"]
    sync.cycle(ann.call, remote)  # its own words come back
    remote.asked.clear()
    assert sync.cycle(ann.call, remote) == sync.Synced(pulled=0)
    assert remote.asked == ["news"]
    tower.add("The shop sells fish.")
    tower.sync(hub)
    remote.asked.clear()
    ann.call("hub-unshare", scope="project", project="shop")
    sync.cycle(ann.call, remote)
    assert remote.asked == [f"unshare {SHOP}", "news", "pull user:ann"]


def test_a_hub_that_was_restored_from_a_backup_gets_back_what_the_devices_have(hub: FakeHub, pair: Any) -> None:
    """Whoever wrote to it before the others looked; what was deleted since stays so, what was changed stays changed."""
    ann, tower = pair
    kept, edited, deleted = (ann.add(f"The {word} is open.") for word in ("shop", "kitchen", "garden"))
    for device in (ann, tower):
        device.sync(hub)
    dump = copy.deepcopy(hub)
    ann.call("edit", id=edited, text="The kitchen is shut.")
    ann.call("delete", ids=[deleted])
    later = ann.add("The door is blue.")
    for device in (ann, tower):
        device.sync(hub)
    writer = tower.add("The roof is red.")
    for _ in range(6):  # more than what was lost: no number tells the two apart
        tower.sync(dump)
        tower.call("edit", id=writer, text=f"The roof is {secrets.token_hex(3)}.")
    for device in (ann, tower) * 3:
        device.sync(dump)
    assert ann.texts() == tower.texts()
    assert {ann.text(one) for one in (kept, edited, later)} == {
        "The shop is open.", "The kitchen is shut.", "The door is blue."}  # fmt: skip
    assert ann.text(deleted) == tower.text(deleted) == ""
    assert not ann.call("conflicts")
    assert dump.alive("user:ann") == {kept, edited, later, writer}


def test_what_an_earlier_program_could_not_read_is_read_by_a_later_one(
    hub: FakeHub, pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, tower = pair
    memory_id = ann.add("The shop sells soup.")
    ann.sync(hub)
    monkeypatch.setattr(hub_body, "checked", unfit)
    assert sync.cycle(tower.call, Noted(hub, tower)).skipped == 1
    assert sync.cycle(tower.call, Noted(hub, tower)).skipped == 0
    monkeypatch.undo()
    tower.sync(hub)
    assert tower.text(memory_id) is None  # the same program is not asked again and again
    monkeypatch.setattr(table, "__version__", "99.0")
    tower.sync(hub)
    assert tower.text(memory_id) == "The shop sells soup."
    assert tower.call("hub-state")["skipped"] == 0


def unfit(body: Any) -> Any:
    raise msgspec.ValidationError("Invalid enum value 'of later'")


def test_the_files_are_gone_through_where_something_was_erased_and_only_there(hub: FakeHub, pair: Any) -> None:
    """Also where the deletion is only heard of in answer to a change."""
    ann, tower = pair
    asked: list[str] = []

    def ask(verb: str, **arguments: Any) -> Any:
        asked.append(verb)
        return tower.call(verb, **arguments)

    def folds(remote: FakeRemote) -> int:
        asked.clear()
        sync.cycle(ask, remote)
        return asked.count("hub-fold")

    one, other = ann.add("The shop sells soup."), ann.add("The kitchen opens at eight.")
    ann.sync(hub)
    assert folds(Noted(hub, tower)) == 0
    tower.add("Deploys happen on Fridays.")
    assert folds(Noted(hub, tower)) == 0
    ann.call("delete", ids=[one])
    ann.sync(hub)
    assert folds(Noted(hub, tower)) == 1

    class Meanwhile(Noted):
        def push(self, items: Any) -> list[Result]:
            ann.call("delete", ids=[other])
            ann.sync(hub)
            return super().push(items)

    tower.call("edit", id=other, text="The kitchen opens at nine.")
    assert folds(Meanwhile(hub, tower)) == 1
    assert tower.text(other) == ""


def test_a_long_way_goes_in_portions_and_goes_on_where_it_broke_off(hub: FakeHub, pair: Any) -> None:
    """The first synchronisation of a large store, on both sides; and it tells how far it is."""
    ann, tower = pair
    texts = fill(ann, 720)
    for _ in range(2):  # the first push fails, then the second
        with pytest.raises(HubError):
            sync.cycle(ann.call, Noted(hub, ann, 3))
    told: list[int] = []
    done = sync.cycle(ann.call, Noted(hub, ann), told=told.append)
    assert (done.left, len(hub.rows)) == (0, 720)
    assert 0 < done.pushed < 720  # what had gone up before it broke off went up once
    assert sum(told) >= done.pushed
    taken = 0
    for until in (4, -1):
        before = len(tower.texts())
        try:
            sync.cycle(tower.call, Noted(hub, tower, until), page=300)
        except HubError:
            assert len(tower.texts()) > before
        taken = len(tower.texts())
    assert taken == 720
    assert tower.texts() == texts
    assert not tower.outbox()


def test_held_streams_are_left_alone_and_lose_nothing(hub: FakeHub, pair: Any) -> None:
    ann, tower = pair
    ann.add("The shop sells soup.")
    hold = frozenset({"user:ann"})
    assert sync.cycle(ann.call, Noted(hub, ann), hold=hold) == sync.Synced(left=1)
    assert not hub.rows
    ann.sync(hub)
    assert sync.cycle(tower.call, Noted(hub, tower), hold=hold).pulled == 0
    assert tower.sync(hub).pulled == 1


def test_a_memory_that_moves_while_streams_are_read_is_not_lost_and_found(hub: FakeHub, pair: Any) -> None:
    """Between the reading of the stream where it goes and of that which it leaves: it keeps what is only here."""
    ann, tower = pair
    for device in pair:
        device.call("hub-share", scope="project", project="shop")
    memory_id = ann.add("The shop sells soup.")
    ann.sync(hub)
    tower.sync(hub)
    tower.plain_sql("update memories set hit_count = 7")
    ann.add("The kitchen opens at eight.")  # so that both streams are read
    ann.add("Deploys happen on Fridays.", "project")
    ann.sync(hub)

    class Meanwhile(Noted):
        def pull(self, stream: str, cursor: int, limit: int = 500) -> Page:
            if stream == "user:ann" and not self.asked.count(f"pull {stream}"):
                ann.call("move", ids=[memory_id], project="shop")
                ann.sync(hub)
            return super().pull(stream, cursor, limit)

    sync.cycle(tower.call, Meanwhile(hub, tower))
    moved = tower.get(memory_id)
    assert moved
    assert (moved.project, moved.hit_count) == ("shop", 7)


def test_what_is_changed_while_it_is_sent_is_sent_next(hub: FakeHub, pair: Any) -> None:
    """The answer to the older text clears nothing of the newer one; the same for a move, and for a deletion."""
    ann, tower = pair
    ann.call("hub-share", scope="project", project="shop")
    ids = [
        ann.add(text) for text in ("The shop sells soup.", "The kitchen opens at eight.", "Deploys happen on Fridays.")
    ]

    class Meanwhile(Noted):
        def push(self, items: Any) -> list[Result]:
            results = super().push(items)
            if len(self.asked) == self.asked.index("push 3") + 1:
                ann.call("edit", id=ids[0], text="The shop sells tea.")
                ann.call("move", ids=[ids[1]], project="shop")
                ann.call("delete", ids=[ids[2]])
            return results

    sync.cycle(ann.call, Meanwhile(hub, ann))
    assert ann.outbox() == set(ids)
    ann.sync(hub)
    tower.sync(hub)
    assert tower.texts() == {"The shop sells tea."}
    assert hub.alive(SHOP) == {ids[1]}
    assert not ann.outbox()


class Boxed:
    """A seal as simple as can be: what is inside stands upside down."""

    def close(self, item: Item) -> Item:
        inside = msgspec.json.encode(item.body)[::-1]
        return msgspec.structs.replace(item, body=None, sealed=inside, digest=item.digest[::-1]) if item.body else item

    def open(self, row: Row) -> Row:
        if row.deleted:
            return row
        if row.sealed is None:
            raise ValueError("it is in the clear")
        return msgspec.structs.replace(
            row, body=msgspec.json.decode(row.sealed[::-1]), sealed=None, digest=row.digest[::-1]
        )  # fmt: skip


def test_what_is_sealed_goes_round_and_what_cannot_be_opened_is_named(hub: FakeHub, pair: Any) -> None:
    """One's own sealed words are known again; a row in the clear keeps no other away."""
    ann, tower = pair
    seal = Boxed()
    memory_id = ann.add("The shop sells soup.")
    ann.sync(hub, seal=seal)
    ann.call("edit", id=memory_id, text="The kitchen opens at eight.")
    assert not [row for row in hub.rows.values() if row.body]
    tower.sync(hub, seal=seal)
    tower.call("edit", id=memory_id, text="The kitchen opens at nine.")
    for _ in range(2):
        for device in (ann, tower):
            device.sync(hub, seal=seal)
    assert ann.texts() == tower.texts() == {"The kitchen opens at eight.", "The kitchen opens at nine."}
    hub.rows[memory_id].sealed, hub.rows[memory_id].seq = None, hub.next()
    hub.rows[memory_id].version += 1
    other = ann.add("Deploys happen on Fridays.")
    sync.cycle(ann.call, Noted(hub, ann), seal)
    assert sync.cycle(tower.call, Noted(hub, tower), seal).skipped == 1
    assert tower.text(other) == "Deploys happen on Fridays."
    assert [one["id"] for one in tower.call("hub-state")["skipped_rows"]] == [memory_id]


def test_a_hub_that_always_says_stale_is_asked_a_few_times_only(hub: FakeHub, pair: Any) -> None:
    """And the change is lost no more than the patience: it goes the next time."""
    ann, _ = pair

    class Stubborn(Noted):
        def push(self, items: Any) -> list[Result]:
            self.note("push")
            return [Result(id=item.id, outcome="stale", version=7) for item in items]

    memory_id = ann.add("The shop sells soup.")
    ann.sync(hub)
    ann.call("edit", id=memory_id, text="The kitchen opens at eight.")
    remote = Stubborn(hub, ann)
    assert sync.cycle(ann.call, remote).left == 1
    assert remote.asked.count("push") == sync.ROUNDS
    assert ann.sync(hub).pushed == 1


def test_hooks_wait_for_a_page_no_longer_than_they_may(hub: FakeHub, pair: Any) -> None:
    """B48: what is taken in at once is small; here with room for a busy machine. Embeddings come later."""
    ann, tower = pair
    fill(ann, 250)
    ann.sync(hub)
    longest = 0.0

    def timed(verb: str, **arguments: Any) -> Any:
        nonlocal longest
        begun = time.thread_time()
        answer = tower.call(verb, **arguments)
        longest = max(longest, time.thread_time() - begun) if verb == "hub-take" else longest
        return answer

    assert sync.cycle(timed, hub.remote("ann", "tower")).pulled == 250
    assert 0 < longest < 0.5
    assert tower.db.execute("select count(*) from vectors").get == 0
