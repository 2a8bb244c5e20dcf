"""Simulated teams for a hub: who is in which org, and devices that do what real ones do with a home that is a dict.

A device is the real cycle (`recalld.hub.sync`) over the real `Remote`; only its home forgets all but what it has sent and
what has arrived.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

import hub_items
from pg import Hub, device_id
from recalld.errors import RecalldError
from recalld.hub import sync
from recalld.hub.postgres import Remote
from recalld.hub.run import LOOK_S, POLL_S, REST_S
from recalld.hubwire import HubError, Item, Page, project_stream

DEVICES_A_MEMBER = 5
PROJECTS_A_MEMBER = 4
MAINTAINER_EVERY = 5
"""One member in so many may write for the org."""
AGAIN_S = 2.0
"""So long a device waits after the hub did not answer."""
END_S = 300.0
_WORDS = (
    "orders", "invoices", "deploys", "staging", "tests", "migrations", "reviews", "tokens", "queue", "cache", "timeouts",
    "retries", "schema", "index", "branch", "release", "monitor", "alerts", "backups", "regions", "customers",
)  # fmt: skip


class Person(NamedTuple):
    """A member. streams: all that they may see; those that they write to are the same, but for `org`."""

    org: str
    dsn: str
    own: str
    streams: tuple[str, ...]
    maintains: bool


class Device(NamedTuple):
    """One of a member's machines. others: streams that it must not see. starts: the seq that it has seen everything to."""

    id: str
    person: Person
    others: tuple[str, ...]
    starts: int


class Seen(NamedTuple):
    """What a device went through. sent: id -> (stream, when it was there to be sent).

    arrived: (stream, id, seq, when); times by the machine's monotonic clock, in seconds. lost: so often the hub did not
    answer in time. wrong: each error in a sentence.
    """

    device: Device
    sent: dict[str, tuple[str, float]]
    arrived: list[tuple[str, str, int, float]]
    cycles: int
    lost: int
    wrong: list[str]


def orgs(members: int) -> list[int]:
    """Members of each org: one has half of all, one a quarter, the rest are pairs.

    The large one is the hard case (one lock, and all its devices wake at each push), the pairs are the common one.
    """
    sizes = [members // 2, members // 4]
    while (rest := members - sum(sizes)) > 0:
        sizes.append(min(2, rest))
    return [size for size in sizes if size]


def people(hub: Hub, members: int) -> list[Person]:
    """All members, org by org; each shares some of its projects."""
    found = []
    for number, size in enumerate(orgs(members)):
        name = f"org{number}"
        owner = hub.org(name, "m0")
        added = Hub.__new__(Hub)
        added.owner = owner
        projects = [project_stream(f"remote:github.com/{name}/p{n}") for n in range(max(2, size // 2))]
        for n in range(size):
            maintains = n % MAINTAINER_EVERY == 0
            dsn = owner if n == 0 else added.member(f"m{n}", "maintainer" if maintains else "member")
            mine = [projects[(n + k) % len(projects)] for k in range(min(PROJECTS_A_MEMBER, len(projects)))]
            with hub.device(dsn, "first") as remote:
                own = remote.whoami().stream
                for stream in mine:
                    remote.share(stream)
            found.append(Person(name, dsn, own, ("org", own, *mine), maintains))
    return found


def devices(hub: Hub, members: Sequence[Person], amount: int) -> list[Device]:
    """So many machines, registered, that have seen all that is there now."""
    last = dict(hub.query("select name, seq from recalld.orgs"))
    found = []
    for n in range(amount):
        person = members[n % len(members)]
        name = f"device {n // len(members)}"
        hub.device(person.dsn, name).close()
        near = {stream for one in members if one.org == person.org for stream in one.streams}
        far = next(one for one in members if one.org != person.org)
        hidden = tuple(sorted((near | {far.own, far.streams[-1]}) - set(person.streams)))
        found.append(Device(device_id(name, person.dsn), person, hidden, last[person.org]))
    return found


def memory(stream: str, chance: random.Random) -> Item:
    """A new memory as people write them: 12 to 40 words, one step of history."""
    text = " ".join(chance.choices(_WORDS, k=chance.randint(12, 40)))
    tags = tuple(chance.sample(_WORDS, 2))
    return hub_items.item(stream, text, steps=hub_items.steps(text), tags=tags)


def batches(stream: str, amount: int, most: int = 1000) -> Iterator[list[Item]]:
    """So many new memories of a stream, in batches."""
    chance = random.Random(f"{stream} {amount}")
    for first in range(0, amount, most):
        yield [memory(stream, chance) for _ in range(min(most, amount - first))]


class Home:
    """Answers the cycle as a home does. every_s: it has something to say so often; 0: as soon as the last is sent."""

    def __init__(self, device: Device, every_s: float, begin: float) -> None:
        self.device, self._every_s = device, every_s
        self._chance = random.Random(device.id)
        self._cursors = dict.fromkeys(device.person.streams, device.starts)
        self._outbox: list[Item] = []
        self._mark = ""
        self.due = begin + self._chance.random() * every_s
        self.seen = Seen(device, {}, [], 0, 0, [])

    @property
    def waits(self) -> bool:
        """Whether there is something to send."""
        return bool(self._outbox)

    def say(self, now: float) -> None:
        """Put something into the outbox, when it is time."""
        if now < self.due or self._outbox:
            return
        person = self.device.person
        kind = self._chance.random()
        stream = person.own if kind < 0.3 else self._chance.choice(person.streams[2:])
        if kind > 0.9 and person.maintains:
            stream = "org"
        item = memory(stream, self._chance)
        self._outbox.append(item)
        self.seen.sent[item.id] = (stream, self.due if self._every_s else now)
        self.due += self._every_s

    def ask(self, verb: str, *, writes: bool = False, **given: Any) -> Any:
        """The verbs of the hub."""
        match verb:
            case "hub-state":
                told = {"sends": True, "receives": True, "announced": True, "delete_mine": False}
                streams = [{"stream": one, "cursor": at, **told} for one, at in self._cursors.items()]
                return {"streams": streams, "mark": self._mark, "outgrown": False}
            case "hub-outbox":
                items = msgspec.to_builtins(self._outbox)
                return {"items": items, "withdrawals": [], "left": len(items), "next": None}
            case "hub-settle":
                self._outbox = []
                self.seen.wrong.extend(f"a push was {one['outcome']}: {one['reason']}" for one in given.get("settled", ())
                                       if one["outcome"] not in ("stored", "same"))  # fmt: skip
                return {}
            case "hub-take":
                return self._take(msgspec.convert(given["page"], Page))
            case "hub-sweep":
                return {"deleted": 0}
            case "hub-mark":
                if "mark" not in given:
                    self.seen.wrong.append("the hub was taken for one that was restored")
                self._mark = given.get("mark", "")
                return {}
        raise AssertionError(verb)

    def _take(self, page: Page) -> dict[str, int]:
        now = time.monotonic()
        if page.begins != self._cursors[page.stream]:
            self.seen.wrong.append("a page began elsewhere than the one before had ended")
        self.seen.arrived.extend((row.stream, row.id, row.seq, now) for row in page.rows)
        self._cursors[page.stream] = page.cursor
        return {"taken": len(page.rows), "conflicts": 0, "deleted": 0, "skipped": 0, "cursor": page.cursor}


def live(found: Sequence[Device], every_s: float, begin: float, until: float, barrier: Any) -> list[Seen]:
    """Let these devices work at once, each in a thread, from `begin` to `until`; all hold at the end until all are done."""
    homes = [Home(device, every_s, begin) for device in found]
    threads = [threading.Thread(target=_live, args=(home, begin, until, barrier)) for home in homes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [home.seen for home in homes]


def _live(home: Home, begin: float, until: float, barrier: Any) -> None:
    try:
        with Remote(home.device.person.dsn, device_id=home.device.id) as remote:
            remote.wait(0)
            time.sleep(max(0, begin - time.monotonic()))
            cycles, lost = _work(home, remote, until)
            home.seen = home.seen._replace(cycles=cycles, lost=lost)
            barrier.wait(END_S)  # nobody says any more
            _until_done(home, remote)
            barrier.wait(END_S)  # nobody sends any more
            sync.cycle(home.ask, remote)
            for stream in home.device.others:
                if remote.pull(stream, 0).rows:
                    home.seen.wrong.append(f"{home.device.person.own} could read {stream}")
    except (RecalldError, threading.BrokenBarrierError) as error:
        barrier.abort()
        home.seen.wrong.append(f"{type(error).__name__}: {error}")


def _work(home: Home, remote: Remote, until: float) -> tuple[int, int]:
    """As the hub's process: a cycle, a rest, waiting for what is told or is to be said. How many, and how many failed."""
    cycles = lost = 0
    while (now := time.monotonic()) < until:
        home.say(now)
        try:
            remote.whoami()
            sync.cycle(home.ask, remote)
            cycles += 1
            time.sleep(REST_S)
            _wait(home, remote, min(time.monotonic() + POLL_S, until))
        except HubError:
            lost += 1
            time.sleep(AGAIN_S)
    return cycles, lost


def _wait(home: Home, remote: Remote, until: float) -> None:
    while (now := time.monotonic()) < min(until, home.due):
        if remote.wait(max(0.001, min(LOOK_S, home.due - now, until - now))):
            return


def _until_done(home: Home, remote: Remote) -> None:
    """Send what still waits. Raises HubError where that fails again and again."""
    for _ in range(3):
        with contextlib.suppress(HubError):
            return _sent(home, remote)
        time.sleep(AGAIN_S)
    return _sent(home, remote)


def _sent(home: Home, remote: Remote) -> None:
    while home.waits:
        sync.cycle(home.ask, remote)
