"""The hub in memory answers as the real one does: the same random requests to both, the same answers of both."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import pg
from hub_house import ORG, SHOP, FakeHub
from hub_items import item
from pg import hub  # noqa: F401  # a fixture
from recalld.hubwire import Page, Result, user_stream
from test_hub_converge import ROLES, Real

REQUESTS = 120
DEVICES = [(member, device) for member in ROLES for device in ("laptop", "tower")]
IDS = [f"m-{number:020x}" for number in range(4)]
OTHER = "project:name:other"


@pytest.fixture
def real(hub: pg.Hub) -> Iterator[Real]:  # noqa: F811
    made = Real(hub)
    yield made
    for remote in made.remotes.values():
        remote.close()


def told(results: list[Result]) -> list[tuple[str, str, int]]:
    return sorted((one.id, one.outcome, 0 if one.outcome in ("refused", "gone") else one.version) for one in results)


def seen(page: Page) -> list[Any]:
    rows = [(one.seq, one.id, one.version, one.deleted, (one.body or {}).get("content")) for one in page.rows]
    gone = [(one.seq, one.id, "withdrawn", one.mine) for one in page.withdrawn]
    return [one[1:] for one in sorted([*rows, *gone], key=lambda one: one[0])]


@pytest.mark.parametrize("seed", range(4))
def test_both_hubs_answer_the_same(real: Real, seed: int) -> None:
    """Pushes, withdrawals, shares and their ends by four devices of two members, and what each may read then."""
    dice = random.Random(seed)
    fake = FakeHub(**ROLES)
    for number in range(REQUESTS):
        member, device = dice.choice(DEVICES)
        sides = fake.remote(member, device), real.connected(member, device)
        what, memory_id, place = dice.random(), dice.choice(IDS), dice.choice([ORG, SHOP, SHOP, OTHER, "own"])
        streams = [user_stream(side.member_id(member)) if place == "own" else place for side in (fake, real)]
        note = f"request {number}: {member}/{device} {what:.2f} {memory_id} {place}"
        if what < 0.55:
            options: dict[str, Any] = {
                "id_": memory_id, "base_version": dice.randrange(4), "deleted": dice.random() < 0.15,
                "scope": "user" if place == "own" else "",
            }  # fmt: skip
            text = dice.choice(["Soup.", "Fish."])
            results = [side.push([item(stream, text, **options)]) for side, stream in zip(sides, streams, strict=True)]
            assert told(results[0]) == told(results[1]), note
        elif what < 0.65:
            results = [side.withdraw(stream, [memory_id]) for side, stream in zip(sides, streams, strict=True)]
            assert told(results[0]) == told(results[1]), note
        elif what < 0.8 and place in (SHOP, OTHER):
            for side in sides:
                side.share(place)
        elif what < 0.87:
            mine = dice.random() < 0.3
            for side, stream in zip(sides, streams, strict=True):
                side.unshare(stream, delete_mine=mine)
        else:
            pages = [side.pull(stream, 0) for side, stream in zip(sides, streams, strict=True)]
            assert seen(pages[0]) == seen(pages[1]), note
