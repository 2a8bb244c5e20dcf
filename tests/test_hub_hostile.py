"""What another member, or a hub that is not what it was, can do to the memories of a machine: nothing that is not shared."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hub_house import SHOP
from recalld import hubwire
from recalld.carried import Step
from recalld.hub import sync
from recalld.model import Status, Type
from test_hub_local import AT, BREAD, FISH, SOUP, Team, alone, row, take, team  # noqa: F401  # fixtures


def step(content: str, **changed: Any) -> Step:
    fields = {"version": 1, "action": "update", "actor": "x", "type": Type.FACT, "status": Status.ACTIVE, "at": AT}
    return Step(content=content, **fields | changed)


@pytest.mark.parametrize("deleted", [True, False])
def test_a_stream_does_not_reach_a_memory_of_another_place_that_the_hub_was_never_told_of(
    team: Team,  # noqa: F811
    deleted: bool,
) -> None:
    """Neither by a text nor by a deletion under its id."""
    mine = team.bob.call("add", text=SOUP, scope="project", project="other")["id"]
    take(team.bob, row(mine, deleted=deleted, content=FISH, body=None) if deleted else row(mine, content=FISH))
    assert (team.bob.text(mine), team.bob.get(mine).project) == (SOUP, "other")  # type: ignore[union-attr]


def test_an_id_that_another_took_first_is_named_and_his_deletion_is_his_own(team: Team) -> None:  # noqa: F811
    """Also where the memory was about to be sent."""
    team.bob.plain_sql("insert into project_identities values ('name:other', 2)")
    team.bob.call("hub-share", scope="project", project="other")
    mine = team.bob.call("add", text=SOUP, scope="project", project="other")["id"]
    team.ann.plain_sql("insert into projects values (3, 'third', ?, ?)", AT, AT)
    team.ann.add(FISH, "project")
    team.ann.sync(team.hub)
    (taken,) = team.hub.rows
    team.hub.rows[mine] = team.hub.rows.pop(taken)
    for _ in range(2):
        sync.cycle(team.bob.call, team.hub.remote("bob", "laptop"))
    (refused,) = team.bob.call("hub-state")["refused"]
    assert refused["id"] == mine
    assert "another memory under this id" in refused["reason"]
    stored = team.hub.rows[mine]
    stored.deleted, stored.body, stored.seq, stored.version = True, None, team.hub.next(), stored.version + 1
    team.bob.sync(team.hub)
    assert team.bob.text(mine) == SOUP


@pytest.mark.parametrize("then", ["edit", "delete"])
def test_what_i_moved_to_where_nobody_else_is_stays_mine(team: Team, then: str) -> None:  # noqa: F811
    """Also if a teammate wrote it first, who goes on with it in the project."""
    theirs = team.shared()
    team.bob.call("hub-unshare", scope="user")
    team.bob.call("move", ids=[theirs], scope="user")
    team.bob.call("edit", id=theirs, text=BREAD)
    team.sync()
    if then == "edit":
        team.ann.call("edit", id=theirs, text=FISH)
    else:
        team.ann.call("delete", ids=[theirs])
    team.sync()
    assert (team.bob.text(theirs), team.bob.get(theirs).scope) == (BREAD, "user")  # type: ignore[union-attr]
    assert BREAD not in "".join(team.hub.seen)


def test_no_memory_contradicts_itself_or_is_both_in_force_and_replaced(team: Team) -> None:  # noqa: F811
    it, other = row(seq=1), row(seq=2, content=FISH)
    it = row(it.id, seq=1, conflicts=[it.id], superseded_by=other.id)
    take(team.bob, it, other)
    here = team.bob.get(it.id)
    assert here
    assert (here.conflicts, here.superseded_by, here.status) == ((), None, "active")


@pytest.mark.parametrize("bad", [step("x" * 5_000), step("x", at="nonsense"), step("x", actor="y" * 2_000)])
def test_an_unfit_step_costs_itself_and_not_the_memory(team: Team, bad: Step) -> None:  # noqa: F811
    take(team.bob, row(content=FISH, steps=(bad, step(SOUP))))
    (found,) = team.bob.call("list", project="all")
    assert found["content"] == FISH
    assert [one["content"] for one in team.bob.call("history", id=found["id"])] == [SOUP]


def test_what_a_teammate_made_unreadable_is_mended_by_the_next_change_here(team: Team) -> None:  # noqa: F811
    """And until then nothing of his is taken, and what is here stays."""
    memory_id = team.shared()
    stored = team.hub.rows[memory_id]
    stored.body, stored.seq, stored.version = {**(stored.body or {}), "type": "zzz"}, team.hub.next(), 2
    stored.digest = b"\2" * 32
    assert sync.cycle(team.bob.call, team.hub.remote("bob", "laptop")).skipped == 1
    assert team.bob.text(memory_id) == SOUP
    team.bob.call("edit", id=memory_id, text=FISH)
    assert team.bob.sync(team.hub).pushed == 1
    sync.cycle(team.ann.call, team.hub.remote("ann", "laptop"))
    assert team.ann.text(memory_id) == FISH


def test_what_one_machine_takes_off_the_hub_stays_on_the_members_other_machines(team: Team) -> None:  # noqa: F811
    """As their own, which no later change sends again; the others of the team lose it."""
    written = team.tower.add(SOUP, "project")
    others = team.bob.add("The team's own word.", "project")
    own = team.tower.add(FISH, "user")
    team.sync()
    for scope in ("project", "user"):
        team.ann.call("hub-unshare", scope=scope, project="shop" if scope == "project" else None, delete_mine=True)
    team.sync()
    assert team.tower.texts() >= {SOUP, FISH}
    assert team.bob.get(written) is None
    assert team.hub.alive(SHOP) == {others}
    team.bob.call("edit", id=others, text="The team's last word.")
    team.sync()
    assert team.tower.text(others) == "The team's last word."
    team.tower.call("edit", id=written, text=BREAD)
    team.tower.call("edit", id=own, text=BREAD)
    team.sync()
    assert BREAD not in "".join(team.hub.seen)


def test_a_project_that_the_settings_keep_here_later_leaves_the_hub_whole(team: Team) -> None:  # noqa: F811
    """At the next synchronisation, without a change of any of its memories."""
    memory_id = team.shared()
    team.ann.local_only = ("shop",)
    team.sync()
    assert team.bob.get(memory_id) is None
    assert not team.hub.alive(SHOP)
    assert team.ann.text(memory_id) == SOUP


def test_what_was_deleted_here_in_another_place_stays_deleted_and_the_hub_is_told(team: Team) -> None:  # noqa: F811
    memory_id = team.bob.call("add", text=SOUP, scope="project", project="other")["id"]
    team.bob.call("delete", ids=[memory_id])
    take(team.bob, row(memory_id, content=FISH))
    assert team.bob.text(memory_id) == ""
    assert memory_id in team.bob.outbox()


def test_links_without_end_are_cut(team: Team) -> None:  # noqa: F811
    """Each would cost every machine that takes the memory in."""
    ids = [f"m-{number:020x}" for number in range(120)]
    rows = [
        row(one, seq=n, content=f"Shelf {n} holds cups.", related=ids, conflicts=ids) for n, one in enumerate(ids, 1)
    ]
    take(team.bob, *rows)
    assert len(team.bob.texts()) == len(ids)
    pairs = team.bob.db.execute("select count(*) from conflicts").get
    assert pairs <= hubwire.MAX_LINKS * len(ids)
    assert max(len(one.related) for one in map(team.bob.get, ids) if one) <= len(ids)


def test_what_this_machine_took_elsewhere_goes_back_from_a_restored_hub(team: Team) -> None:  # noqa: F811
    """What was moved out of the project after the backup was made leaves the project again."""
    memory_id = team.shared()
    dump = copy.deepcopy(team.hub)
    team.ann.call("hub-unshare", scope="user")
    team.ann.call("move", ids=[memory_id], scope="user")
    team.sync()
    assert team.bob.get(memory_id) is None
    team.hub = dump
    team.bob.add(FISH, "project")
    team.sync()
    assert team.bob.get(memory_id) is None
    assert memory_id not in dump.alive(SHOP)
    assert (team.ann.text(memory_id), team.ann.get(memory_id).scope) == (SOUP, "user")  # type: ignore[union-attr]
