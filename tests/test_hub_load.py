"""A short form of `tests/hub_load.py`: devices at once against a real hub; see there."""

from __future__ import annotations

import hub_load
from hub_fleet import Device, Person, Seen, orgs
from hub_load import Plan, plan_of


def test_what_devices_push_at_once_arrives_once_and_where_it_may_be_seen() -> None:
    """Several orgs, members and projects; each device ends with exactly what its streams hold, in order."""
    found = hub_load.load(Plan(devices=8, memories=120, minutes=0.06, every_s=0.5, processes=1))
    assert found.wrong == []
    for seen in found.seen:
        assert len(seen) == 8
        assert any(one.sent for one in seen)
        assert {one.device.person.org for one in seen} == {"org0", "org1", "org2"}
    assert all(one.device.others for one in found.seen[0])


PERSON = Person("acme", "", "user:a", ("org", "user:a", "project:p"), maintains=False)
SENDER = Seen(Device("d1", PERSON, (), 0), {"m1": ("org", 1.0), "m2": ("org", 2.0)}, [], 1, 0, [])
BOTH = [("org", "m1", 2, 1.5), ("org", "m2", 4, 2.5)]


def broken(*arrived: tuple[str, str, int, float]) -> list[str]:
    """What the comparison finds wrong where one device has sent two, and another has got `arrived`."""
    wrong: list[str] = []
    sender = SENDER._replace(arrived=BOTH)
    hub_load._check(
        [sender, SENDER._replace(device=Device("d2", PERSON, (), 0), sent={}, arrived=list(arrived))], wrong
    )
    return wrong


def test_the_comparison_finds_what_is_missing_doubled_out_of_order_or_elsewhere() -> None:
    assert broken(*BOTH) == []
    assert "has not exactly what org holds" in broken(BOTH[0])[0]
    assert "twice or out of order" in broken(*BOTH, BOTH[1])[0]
    assert "twice or out of order" in broken(*reversed(BOTH))[0]
    assert "something of project:q" in broken(*BOTH, ("project:q", "m3", 6, 3.0))[0]


def test_the_long_form_is_as_large_as_it_says() -> None:
    assert plan_of([]) == Plan(devices=200, memories=1_000_000, minutes=3.0)
    assert orgs(40) == [20, 10, 2, 2, 2, 2, 2]
