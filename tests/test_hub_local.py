"""The local half of the hub: what leaves a machine, what is taken in, and who wins; on real databases."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hub_house import NOW, ORG, SHOP, Device, FakeHub
from recalld import hubwire, maintain
from recalld.config import ConflictConfig, KeepConfig
from recalld.errors import InputError
from recalld.hub import sync
from recalld.hubwire import Body, Page, Row, Withdrawn
from recalld.model import Origin, Scope, Status, Type, new_id, timestamp
from recalld.store import hub as table
from recalld.store.connection import transaction

AT = timestamp(NOW)
SOUP, FISH, BREAD = "The shop sells soup.", "The kitchen opens at eight.", "Deploys happen on Fridays."


class Team:
    """ann with a laptop and a tower, bob with a laptop; all share the shop, each his own; ann may write for all."""

    def __init__(self, folder: Path) -> None:
        self.hub = FakeHub(ann="maintainer", bob="member")
        self.ann = Device(folder, "ann", "laptop", "maintainer").join("user", "project", "org")
        self.tower = Device(folder, "ann", "tower", "maintainer").join("user", "project", "org")
        self.bob = Device(folder, "bob", "laptop").join("user", "project")
        self.all = (self.ann, self.tower, self.bob)

    def sync(self, *devices: Device) -> None:
        for device in devices or self.all * 3:
            device.sync(self.hub)

    def shared(self, text: str = SOUP, scope: str = "project") -> str:
        """A memory of ann's that all have who may."""
        made = self.ann.add(text, scope)
        self.sync()
        return made


@pytest.fixture
def team(tmp_path: Path) -> Any:
    made = Team(tmp_path)
    yield made
    for device in made.all:
        device.close()


@pytest.fixture
def alone(tmp_path: Path) -> Any:
    (tmp_path / "alone").mkdir()
    made = Device(tmp_path / "alone")
    yield made
    made.close()


def row(memory_id: str = "", seq: int = 1, stream: str = SHOP, **changed: Any) -> Row:
    """A row as a hub might send it. changed: of the row, else of its body."""
    fields = {name: changed.pop(name) for name in list(changed) if name in Row.__struct_fields__}
    body = msgspec.to_builtins(
        Body(scope=Scope.PROJECT, type=Type.FACT, content=SOUP, source="cli", origin=Origin.USER, confidence=1.0,
             status=Status.ACTIVE, first_seen=AT, last_seen=AT, created_at=AT, updated_at=AT)
    ) | changed  # fmt: skip
    plain = {"body": body, "digest": b"\1" * 32, "version": 1, "member": "bob", "device": "laptop", "client": "cli"}
    return Row(id=memory_id or new_id(), stream=stream, seq=seq, **plain | fields)


def take(device: Device, *rows: Row, begins: int = 0, withdrawn: tuple[Withdrawn, ...] = ()) -> Any:
    last = max(one.seq for one in (*rows, *withdrawn))
    page = Page(stream=rows[0].stream if rows else SHOP, begins=begins, cursor=last, rows=rows, withdrawn=withdrawn)
    return device.call("hub-take", page=msgspec.to_builtins(page))


# What leaves


def test_nothing_is_noted_or_sent_before_the_owner_shares(team: Team, alone: Device) -> None:
    """Neither without a hub nor, once joined, of a scope that was not shared; sharing sends what was there before."""
    alone.add(SOUP, "user")
    assert not alone.outbox()
    assert alone.call("hub-state") == {**alone.call("hub-leave"), "joined": False}
    alone.join()
    alone.add(FISH, "project")
    alone.sync(FakeHub(ann="member"))
    alone.sync(team.hub)
    assert not team.hub.seen
    alone.call("hub-share", scope="user")
    alone.sync(team.hub)
    assert [SOUP in one for one in team.hub.seen] == [True]
    team.sync()
    assert team.tower.texts() == {SOUP}
    assert not team.bob.texts()


@pytest.mark.parametrize(
    "statement", ["content = 'Changed by hand.'", "pinned = 1", "confidence = 0.7", "type = 'lesson'"]
)
def test_a_change_with_plain_sqlite3_travels(team: Team, statement: str) -> None:
    memory_id = team.shared()
    team.ann.plain_sql(f"update memories set {statement} where id = ?", memory_id)
    team.sync()
    seen = [device.get(memory_id) for device in team.all]
    assert all(seen)
    assert len({(one.content, one.pinned, one.confidence, one.type) for one in seen if one}) == 1
    assert team.bob.db.execute(f"select {statement} from memories where id = ?", (memory_id,)).get


@pytest.mark.parametrize("why", ["local_only = 1", "status = 'pending'", "the project"])
def test_what_is_private_never_leaves_and_leaves_the_hub_when_it_becomes_so(team: Team, why: str) -> None:
    """Not its text, not what was said while it was private; others' copies go, this one stays."""
    memory_id = team.shared()
    if why == "the project":
        team.ann.local_only = ("shop",)
        team.ann.call("edit", id=memory_id, text="Canary one is private.")
    else:
        team.ann.plain_sql(f"update memories set {why}, content = 'Canary one is private.' where id = ?", memory_id)
    team.sync()
    assert team.ann.text(memory_id) == "Canary one is private."
    assert team.bob.get(memory_id) is None
    assert not team.hub.alive(SHOP)
    team.ann.call("edit", id=memory_id, text="Canary two is private.")
    team.ann.local_only = ()
    team.ann.plain_sql(
        "update memories set local_only = 0, status = 'active', content = ? where id = ?", FISH, memory_id
    )
    team.sync()
    assert team.bob.texts() == {FISH}
    assert "anary" not in "".join(team.hub.seen)


@pytest.mark.parametrize("why", ["local_only = 1", "status = 'pending'"])
def test_what_was_private_for_a_moment_between_two_synchronisations_never_leaves(team: Team, why: str) -> None:
    memory_id = team.shared()
    team.ann.plain_sql(f"update memories set {why} where id = ?", memory_id)
    for text in ("Canary one is private.", "Canary two is private."):
        team.ann.call("edit", id=memory_id, text=text)
    team.ann.plain_sql("update memories set local_only = 0, status = 'active' where id = ?", memory_id)
    team.ann.call("edit", id=memory_id, text=FISH)
    team.sync()
    assert team.bob.texts() == {FISH}
    assert "Canary one" not in "".join(team.hub.seen)


@pytest.mark.parametrize("heard", [True, False])
def test_what_was_on_its_way_when_it_was_made_private_is_taken_back(team: Team, heard: bool) -> None:
    """A push that arrives after the withdrawal, whether its answer comes back or not."""
    memory_id = team.shared()
    team.ann.call("edit", id=memory_id, text=FISH)
    items = msgspec.convert(team.ann.call("hub-outbox")["items"], list[hubwire.Item])
    team.ann.plain_sql("update memories set local_only = 1 where id = ?", memory_id)
    team.sync()
    (result,) = team.hub.remote("ann", "laptop").push(items)
    assert result.outcome == "stored"
    if heard:
        team.ann.call("hub-settle", settled=[sync._answer(result, SHOP, items[0].digest)])
        team.ann.call("hub-outbox")
    team.sync()
    assert not team.hub.alive(SHOP)
    assert (team.ann.text(memory_id), team.bob.get(memory_id)) == (FISH, None)


def test_what_is_no_longer_shared_is_sent_no_more(team: Team) -> None:
    """And what is the organisation's only by who shares it, even where the hub would take it."""
    mine, ours = team.shared(SOUP, "user"), team.shared(FISH, "org")
    for scope in ("user", "org"):
        team.ann.call("hub-unshare", scope=scope)
    for memory_id in (mine, ours):
        team.ann.call("edit", id=memory_id, text=f"Canary of {memory_id}.")
    team.ann.add("Canary of the laptop.", "user")
    team.sync()
    assert "Canary" not in "".join(team.hub.seen)
    assert (team.tower.text(mine), team.bob.text(ours)) == (SOUP, FISH)


def test_a_teammate_who_keeps_a_copy_private_takes_it_from_nobody(team: Team) -> None:
    memory_id = team.shared()
    team.bob.plain_sql("update memories set local_only = 1, content = 'My own view.' where id = ?", memory_id)
    team.sync()
    team.ann.call("edit", id=memory_id, text=FISH)
    team.sync()
    assert (team.ann.text(memory_id), team.tower.text(memory_id)) == (FISH, FISH)
    assert team.bob.text(memory_id) == "My own view."
    assert "My own view" not in "".join(team.hub.seen)
    assert not team.bob.call("hub-state")["refused"]


def test_what_was_said_before_a_memory_was_shared_stays_here(team: Team) -> None:
    """A history begins to travel with the first sending, and anew after each move, privacy or pause in sharing."""
    memory_id = team.ann.add("Canary in the user scope.", "user")
    team.sync(team.ann)
    team.ann.call("edit", id=memory_id, text="Canary before the move.")
    team.ann.call("move", ids=[memory_id], project="shop")
    team.ann.call("edit", id=memory_id, text=SOUP)
    team.sync()
    team.ann.call("edit", id=memory_id, text=FISH)
    team.sync()
    team.ann.call("hub-unshare", scope="project", project="shop")
    team.ann.call("edit", id=memory_id, text="Canary while nothing was shared.")
    team.ann.call("edit", id=memory_id, text=BREAD)
    team.ann.call("hub-share", scope="project", project="shop")
    team.sync()
    told = {event["content"] for event in team.bob.call("history", id=memory_id)}
    assert told == {"", SOUP, FISH}
    assert team.bob.text(memory_id) == BREAD


def test_b67_a_nul_is_taken_out_on_both_ways_and_nothing_loops(team: Team) -> None:
    """Ten memories, one with NUL: ten arrive, and what was sent is what is known."""
    for number in range(10):
        team.ann.add(f"Fact {number} is word{number}x.", "project")
    team.ann.plain_sql("update memories set content = 'A' || char(0) || 'B is whole.' where content like 'Fact 7%'")
    team.sync(team.ann, team.bob)
    assert len(team.bob.texts()) == 10
    assert "AB is whole." in team.bob.texts()
    assert team.ann.sync(team.hub).pushed == 0
    assert not team.ann.outbox()
    take(team.bob, row(seq=99, content="C\0D."), begins=team.bob.call("hub-state")["streams"][1]["cursor"])
    assert "CD." in team.bob.texts()


def test_secrets_are_masked_on_both_ways(team: Team) -> None:
    """Also those that someone wrote into the database by hand, and those that another machine let through."""
    secret = "sk-" + "ant-api03-" + "Zx9" * 20
    team.ann.add(SOUP, "project")
    team.ann.plain_sql("update memories set content = ?", f"The key is {secret}.")
    team.sync(team.ann)
    assert secret not in "".join(team.hub.seen)
    take(team.bob, row(content=f"Use {secret} here.", tags=[secret]))
    assert secret not in team.bob.copy().decode("latin-1")
    assert team.ann.sync(team.hub).pushed == 0


# What comes


def test_what_was_taken_in_does_not_go_back(team: Team) -> None:
    """Nor does a memory that was only said again."""
    memory_id = team.shared()
    assert not team.bob.outbox() | team.tower.outbox()
    pushed = len(team.hub.seen)
    team.bob.add(SOUP, "project")
    team.sync()
    assert len(team.hub.seen) == pushed
    assert [event["actor"] for event in team.bob.call("history", id=memory_id)] == ["hub:ann/laptop"]
    team.ann.call("edit", id=memory_id, text=FISH)
    team.sync()
    assert team.bob.call("history", id=memory_id)[-1]["actor"] == "hub:ann/laptop"
    assert not team.bob.outbox()


def test_a_page_counts_once_and_only_where_the_stream_was_left(team: Team) -> None:
    first, second = row(seq=1, content=SOUP), row(seq=2, content=FISH)
    assert take(team.bob, second, begins=1) == {"taken": 0, "conflicts": 0, "deleted": 0, "skipped": 0, "cursor": 0}
    assert take(team.bob, first)["cursor"] == 1
    team.bob.call("edit", id=first.id, text=BREAD)
    assert take(team.bob, first)["taken"] == 0
    assert take(team.bob, second, begins=1)["taken"] == 1
    assert team.bob.texts() == {BREAD, FISH}
    assert take(team.bob, row(stream="project:name:other", seq=9)) == {
        "taken": 0, "conflicts": 0, "deleted": 0, "skipped": 0, "cursor": 0}  # fmt: skip


FLAWS: dict[str, dict[str, Any]] = {
    "pending": {"status": "pending"}, "a deleted one with text": {"status": "deleted"}, "no text": {"content": ""},
    "too long": {"content": "x" * 5_000}, "no time": {"created_at": "1 May"}, "no such type": {"type": "order"},
    "no number": {"confidence": "high"}, "too sure": {"confidence": 7.0}, "no id": {"memory_id": "m-zz"},
    "its successor is none": {"status": "superseded", "superseded_by": "'; drop table memories"},
    "sealed": {"body": None}, "no text at all": {"content": None},
}  # fmt: skip


@pytest.mark.parametrize("flaw", FLAWS.values(), ids=FLAWS)
def test_a_row_that_does_not_pass_is_skipped_and_named(team: Team, flaw: dict[str, Any]) -> None:
    """It keeps no other away, and is forgotten when it comes again and is sound."""
    bad = row(**{"seq": 2} | flaw)
    done = take(team.bob, row(seq=1, content=FISH), bad, row(seq=3, content=BREAD))
    assert (done["taken"], done["skipped"], done["cursor"]) == (2, 1, 3)
    assert team.bob.texts() == {FISH, BREAD}
    state = team.bob.call("hub-state")
    assert (state["skipped"], [one["id"] for one in state["skipped_rows"]]) == (1, [bad.id])
    if bad.id != "m-zz":
        take(team.bob, row(bad.id, seq=4), begins=3)
        assert team.bob.call("hub-state")["skipped"] == 0


def test_a_row_cannot_say_where_it_belongs(team: Team) -> None:
    """The stream decides, and one that is not taken here changes nothing."""
    take(team.bob, row(seq=1, scope="org", local_only=True, version_of_later="unknown"))
    assert {(one["scope"], one["project"], one["local_only"]) for one in team.bob.call("list", project="all")} == {
        ("project", "shop", False)
    }
    assert take(team.bob, row(stream="user:ann", content=FISH))["taken"] == 0


def test_b94_no_clock_decides_and_nothing_lies_in_the_future(team: Team) -> None:
    """Two devices years and ten minutes apart lose nothing, and what is dated ahead is dated today."""
    team.tower.skew, team.bob.skew = timedelta(days=900), timedelta(minutes=-10)
    ids = [device.add(f"Fact of {device.name} {device.member}.", "project") for device in team.all]
    team.sync()
    for device in team.all:
        assert all(device.get(one) for one in ids)
        ends = device.db.execute("select max(max(first_seen, last_seen, created_at, updated_at)) from memories").get
        assert str(ends) <= timestamp(device.now)
    team.tower.skew = timedelta(days=-900)
    team.tower.call("edit", id=ids[0], text=FISH)
    team.sync()
    assert {device.text(ids[0]) for device in team.all} == {FISH}


# Who wins


@pytest.mark.parametrize("order", [*itertools.permutations((0, 1, 2)), (1, 1, 0, 1, 0, 2), (2, 1, 0, 2, 1, 0)])
def test_b81_a_deletion_wins_in_every_order_and_stays(team: Team, order: tuple[int, ...]) -> None:
    """A deletes, B edits and C pins at the same time; nor does an old export bring it back."""
    memory_id = team.shared()
    exported = team.bob.call("export")
    head = {name: exported["head"][name] for name in ("format", "version", "key")}
    team.ann.call("delete", ids=[memory_id])
    team.bob.call("edit", id=memory_id, text=FISH)
    team.tower.call("pin", ids=[memory_id])
    for which in order:
        team.sync(team.all[which])
    team.sync()
    for device in team.all:
        gone = device.get(memory_id)
        assert gone
        assert (gone.status, gone.content) == (Status.DELETED, "")
        assert not any(event["content"] for event in device.call("history", id=memory_id))
        back = {"head": head, "projects": exported["projects"], "memories": exported["memories"]}
        assert device.call("import", **back)["added"] == 0
    later = Device(team.bob.path.parent, "bob", "later").join("project")
    later.sync(team.hub)
    later.call("import", head=head, projects=exported["projects"], memories=exported["memories"])
    assert later.texts() == {SOUP}
    later.sync(team.hub)
    assert not later.texts()
    later.close()


BOTH = {
    "merge-mark": ({FISH, BREAD}, FISH, 1),
    "last-write-wins": ({BREAD}, BREAD, 0),
    "source-priority": ({FISH}, FISH, 0),
}
"""By policy: what is in force in the end, what the memory says, how many conflicts are open."""


@pytest.mark.parametrize("policy", BOTH)
def test_two_texts_for_one_memory_follow_the_policy(team: Team, policy: Any) -> None:
    """Everywhere the same, and no text is lost: the loser's is in a history."""
    memory_id = team.shared()
    for device in team.all:
        device.policy = ConflictConfig(policy=policy, source_priority=("claude-code", "cli"))
    team.ann.plain_sql("update memories set source = 'claude-code'")
    team.ann.call("edit", id=memory_id, text=FISH)
    team.bob.call("edit", id=memory_id, text=BREAD)
    team.sync()
    texts, own, number = BOTH[policy]
    for device in team.all:
        assert (device.texts(), device.text(memory_id)) == (texts, own)
        assert len(device.call("conflicts", project="all")) == number
    told = {event["content"] for event in team.bob.call("history", id=memory_id)}
    assert {SOUP, FISH, BREAD} <= told | texts


def test_a_conflict_that_is_settled_anywhere_is_settled_everywhere(team: Team) -> None:
    """In favour of one, or of both."""
    for keep, text, ours, theirs in (("A", SOUP, "Mondays", "Fridays"), ("both", FISH, "seven", "nine")):
        memory_id = team.shared(text)
        team.ann.call("edit", id=memory_id, text=f"It is {ours}.")
        team.bob.call("edit", id=memory_id, text=f"It is {theirs}.")
        team.sync()
        (open_one,) = team.bob.call("conflicts", project="all")
        team.bob.call("resolve", conflict=open_one["conflict_id"], keep=keep)
        team.sync()
        assert [device.call("conflicts", project="all") for device in team.all] == [[], [], []]
    assert team.ann.texts() == team.bob.texts() == {"It is Mondays.", "It is seven.", "It is nine."}


def test_the_same_change_on_both_sides_is_no_conflict(team: Team) -> None:
    memory_id = team.shared()
    for device in (team.ann, team.bob):
        device.call("edit", id=memory_id, text=FISH)
    team.sync()
    assert [device.texts() for device in team.all] == [{FISH}] * 3
    assert not team.bob.call("conflicts", project="all")


def test_what_only_one_side_changed_holds_on_both(team: Team) -> None:
    """A text here, a pin and a tag there: no conflict, and nothing undone."""
    memory_id = team.shared()
    team.ann.call("edit", id=memory_id, text=FISH)
    team.bob.call("pin", ids=[memory_id])
    team.bob.call("tag", id=memory_id, add=["menu"])
    team.tower.call("patch", id=memory_id, type="lesson")
    team.sync()
    for device in team.all:
        found = device.get(memory_id)
        assert found
        assert (found.content, found.pinned, found.tags, found.type) == (FISH, True, ("menu",), Type.LESSON)
        assert len(device.texts()) == 1


def test_ones_own_words_are_no_conflict_after_a_crash(team: Team) -> None:
    """Sent, not heard of, edited again, and perhaps changed by another meanwhile: the newer text counts."""
    memory_id = team.shared()
    for changed_by_bob in (False, True):
        team.ann.call("edit", id=memory_id, text=FISH)
        sending = team.ann.call("hub-outbox")["items"]
        team.hub.remote("ann", "laptop").push(msgspec.convert(sending, list[hubwire.Item]))  # and then it crashes
        if changed_by_bob:
            team.sync(team.bob)
            team.bob.call("edit", id=memory_id, text=SOUP)
            team.sync(team.bob)
        else:
            team.ann.call("edit", id=memory_id, text=BREAD)
        team.sync()
        assert [device.texts() for device in team.all] == [{SOUP if changed_by_bob else BREAD}] * 3
        assert not team.bob.call("conflicts", project="all")


def test_what_the_hub_refuses_stays_here_until_the_others_text_comes(team: Team) -> None:
    """Of what is the organisation's a mere member changes nothing for others; his text is in his history then."""
    team.bob.call("hub-share", scope="org")
    memory_id = team.shared(SOUP, "org")
    team.bob.call("edit", id=memory_id, text=FISH)
    team.sync()
    assert [(one["id"], "yours" in one["reason"] or "shared" in one["reason"])
            for one in team.bob.call("hub-state")["refused"]] == [(memory_id, True)]  # fmt: skip
    assert (team.bob.text(memory_id), team.ann.text(memory_id)) == (FISH, SOUP)
    team.ann.call("edit", id=memory_id, text=BREAD)
    team.sync()
    assert [device.texts() for device in team.all] == [{BREAD}] * 3
    assert FISH in {event["content"] for event in team.bob.call("history", id=memory_id)}
    assert not team.bob.call("hub-state")["refused"]


def test_the_same_sentence_under_two_ids_becomes_one(team: Team) -> None:
    """The smaller id holds, on every device; a pin is not lost."""
    ids = [device.add(text, "project") for device, text in ((team.ann, SOUP), (team.bob, SOUP.upper()))]
    team.bob.call("pin", ids=[ids[1]])
    team.sync()
    for device in team.all:
        kept, gone = device.get(min(ids)), device.get(max(ids))
        assert kept
        assert gone
        assert (kept.status, kept.pinned) == (Status.ACTIVE, True)
        assert (gone.status, gone.superseded_by) == (Status.SUPERSEDED, kept.id)


def test_no_two_memories_take_each_others_place(team: Team) -> None:
    """Where two devices did it the other way round, the smaller id holds again."""
    ids = sorted([team.shared(SOUP), team.shared(FISH)])
    for device, (old, new) in ((team.ann, ids), (team.bob, reversed(ids))):
        device.plain_sql("update memories set status = 'superseded', superseded_by = ? where id = ?", new, old)
    team.sync()
    assert {tuple(one.status for one in map(device.get, ids) if one) for device in team.all} == {
        ("active", "superseded")
    }


# What leaves a stream


def test_a_memory_that_leaves_a_stream_goes_without_a_trace(team: Team) -> None:
    """An unchanged copy; the same sentence may be learnt again, and it may come back."""
    memory_id = team.shared()
    team.ann.call("move", ids=[memory_id], project="other")
    team.sync()
    assert (team.ann.text(memory_id), team.bob.get(memory_id)) == (SOUP, None)
    for name in ("history", "tombstones", "changes", "hub_items", "hub_outbox"):
        assert team.bob.db.execute(f"select count(*) from {name}").get == 0
    assert not team.bob.call("search", query="soup", project="all")
    team.ann.call("move", ids=[memory_id], project="shop")
    team.sync()
    assert team.bob.texts() == {SOUP}


def test_a_changed_copy_of_what_left_stays_as_this_machines_own(team: Team) -> None:
    memory_id = team.shared()
    team.bob.call("edit", id=memory_id, text=FISH)
    team.ann.call("move", ids=[memory_id], scope="user")
    team.sync()
    (kept,) = team.bob.call("list", project="all")
    assert (kept["content"], kept["local_only"], kept["id"] == memory_id) == (FISH, True, False)
    assert SOUP in {event["content"] for event in team.bob.call("history", id=kept["id"])}
    assert (team.ann.text(memory_id), team.tower.text(memory_id)) == (SOUP, SOUP)
    assert FISH not in "".join(team.hub.seen)


def test_a_move_between_streams_keeps_the_memory_where_both_are_shared(team: Team) -> None:
    """With its history, its hits and whatever was changed meanwhile."""
    memory_id = team.shared()
    team.tower.plain_sql("update memories set hit_count = 7")
    team.tower.call("tag", id=memory_id, add=["menu"])
    team.ann.call("move", ids=[memory_id], scope="user")
    team.sync()
    moved = team.tower.get(memory_id)
    assert moved
    assert (moved.scope, moved.hit_count, moved.tags) == (Scope.USER, 7, ("menu",))
    assert team.ann.get(memory_id).tags == ("menu",)  # type: ignore[union-attr]
    assert team.bob.get(memory_id) is None


def test_taking_ones_own_along_leaves_the_others_theirs(team: Team) -> None:
    """`unshare --delete-mine`; what only the hub had is here first, and sharing again sends all again."""
    mine = team.shared()
    theirs = team.bob.add(FISH, "project")
    team.sync()
    team.tower.add(BREAD, "project")
    team.sync(team.tower)
    team.ann.call("hub-unshare", scope="project", project="shop", delete_mine=True)
    team.sync(team.ann, team.bob)
    assert (team.ann.texts(), team.bob.texts()) == ({SOUP, FISH, BREAD}, {FISH})
    team.ann.call("delete", ids=[theirs])
    team.ann.call("edit", id=mine, text="The shop sells tea.")
    team.ann.call("hub-share", scope="project", project="shop")
    team.sync()
    assert team.bob.texts() == team.ann.texts() == {"The shop sells tea.", BREAD}


# The store's other ways


def test_purging_a_shared_project_takes_nothing_from_the_team(team: Team) -> None:
    team.shared()
    team.bob.call("projects-change", action="purge", project="shop")
    team.sync()
    assert (team.bob.texts(), team.ann.texts()) == (set(), {SOUP})
    assert SHOP in team.hub.rows.popitem()[1].stream
    assert [one["stream"] for one in team.bob.call("hub-state")["streams"]] == ["org", "user:bob"]


def test_a_project_that_is_renamed_or_merged_stays_shared(team: Team) -> None:
    memory_id = team.shared()
    team.bob.call("projects-change", action="name", project="shop", value="store")
    team.bob.call("projects-change", action="merge", project="store", value="other")
    team.bob.call("edit", id=memory_id, text=FISH)
    team.ann.add(BREAD, "project")
    team.sync()
    assert team.ann.texts() == team.bob.texts() == {FISH, BREAD}
    assert {one["project"] for one in team.bob.call("list", project="all")} == {"other"}


def test_a_database_from_before_converges_again(team: Team) -> None:
    """restore-backup: what the team deleted since is deleted, what it changed is as it is now, without false conflicts."""
    ids = [team.shared(text) for text in (SOUP, FISH, BREAD)]
    copy = team.bob.copy()
    team.ann.call("delete", ids=[ids[0]])
    team.bob.call("edit", id=ids[1], text="The kitchen opens at nine.")
    team.sync()
    team.bob.restore(copy)
    team.bob.call("pin", ids=[ids[2]])
    team.sync()
    assert team.bob.texts() == team.ann.texts() == {"The kitchen opens at nine.", BREAD}
    assert team.ann.get(ids[2]).pinned  # type: ignore[union-attr]
    assert not team.bob.call("conflicts", project="all")


def test_undo_of_a_batch_is_undone_for_all(team: Team) -> None:
    kept = team.shared()
    learnt = team.ann.call("add", text=FISH, project="shop", batch="j1")["id"]
    team.ann.call("edit", id=kept, text=BREAD, batch="j1")
    team.sync()
    team.ann.call("undo")
    team.sync()
    assert [device.texts() for device in team.all] == [{SOUP}] * 3
    assert team.bob.get(learnt).status is Status.DELETED  # type: ignore[union-attr]


def test_one_machines_calendar_archives_nothing_for_others(team: Team) -> None:
    """B94: a clock years ahead, or a member who never needed it; whoever changes it brings it back into force for all."""
    memory_id = team.ann.add(SOUP, "project", type="progress")
    team.sync()
    team.bob.skew = timedelta(days=900)
    with transaction(team.bob.db):
        assert maintain.tidy(team.bob.db, team.bob.now, KeepConfig()).archived
    team.sync()
    assert (team.bob.texts("archived"), team.ann.texts(), team.bob.outbox()) == ({SOUP}, {SOUP}, set())
    team.ann.call("edit", id=memory_id, text=FISH)
    team.sync()
    assert (team.bob.texts(), team.ann.texts()) == ({FISH}, {FISH})


def test_a_hub_that_was_restored_from_a_copy_gets_again_what_it_lost(team: Team) -> None:
    """Also a memory that it does not know any more, and that another one was deleted."""
    memory_id, deleted = team.shared(SOUP), team.shared("The shop sells tea.")
    before = msgspec.to_builtins(team.hub.rows)
    new = team.ann.add(FISH, "project")
    team.ann.call("edit", id=memory_id, text=BREAD)
    team.ann.call("delete", ids=[deleted])
    team.sync(team.ann)
    team.hub.rows = {one: msgspec.convert(what, type(team.hub.rows[one])) for one, what in before.items()}
    team.hub.seq += 1_000
    for one in (memory_id, new):
        team.ann.call("pin", ids=[one])
    team.bob.call("pin", ids=[deleted])
    team.sync(team.bob)
    team.sync()
    assert team.bob.texts() == team.ann.texts() == {BREAD, FISH}


def test_leaving_keeps_the_memories_and_forgets_the_hub(team: Team) -> None:
    team.shared()
    assert team.bob.call("hub-leave") == {**team.bob.call("hub-state"), "joined": False}
    assert team.bob.texts() == {SOUP}
    for name in ("hub_streams", "hub_items", "hub_sent", "hub_outbox"):
        assert team.bob.db.execute(f"select count(*) from {name}").get == 0
    with pytest.raises(InputError, match="ann of acme"):
        team.ann.call(
            "hub-join", org_id="o", org="acme", member_id="eve", member="eve", role="owner", device_id="d", device="d"
        )


SHARES: dict[str, tuple[Callable[[Device], Any], str]] = {
    "not joined": (lambda one: one.call("hub-leave"), "hub join"),
    "no identity": (lambda one: one.plain_sql("delete from project_identities"), "no git remote"),
    "local_only": (lambda one: setattr(one, "local_only", ("shop",)), "local_only"),
}


@pytest.mark.parametrize(("before", "told"), SHARES.values(), ids=SHARES)
def test_what_cannot_be_shared_is_refused_with_the_way_out(alone: Device, before: Any, told: str) -> None:
    alone.join()
    before(alone)
    with pytest.raises(InputError, match=told):
        alone.call("hub-share", scope="project", project="shop")


def test_a_new_key_has_the_own_stream_sent_and_read_once_more(team: Team) -> None:
    team.shared(SOUP, "user")
    team.shared(FISH)
    assert team.ann.call("hub-key") == {"key": None}
    team.ann.call("hub-seal", key="ab" * 32)
    assert team.ann.call("hub-state")["sealed"]
    sending = team.ann.call("hub-outbox")["items"]
    assert [(one["stream"], one["base_version"]) for one in sending] == [("user:ann", 1)]
    assert team.ann.call("hub-outbox", hold=["user:ann"])["items"] == []
    assert [one["cursor"] > 0 for one in team.ann.call("hub-state")["streams"]] == [False, True, False]


def test_a_fresh_device_takes_all_of_it(team: Team) -> None:
    """Member enough for what is the organisation's; with the links and the origin of each memory."""
    team.shared(SOUP, "org")
    fresh = Device(team.bob.path.parent, "bob", "fresh").join()
    fresh.sync(team.hub)
    (found,) = fresh.call("list", project="all", scope="org")
    assert (found["content"], found["origin"], found["source"], found["tags"]) == (SOUP, "user", "cli", [])
    assert table.stream(fresh.db, ORG).sends is False  # type: ignore[union-attr]
    fresh.close()
