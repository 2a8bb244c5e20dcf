"""The link of this home with its hub, for the length of a block."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from recalld.config import HubConfig
from recalld.errors import InputError
from recalld.hub import sync
from recalld.hub.postgres import Remote
from recalld.hub.sync import Ask
from recalld.hubwire import HubError, Item, Me, Row
from recalld.paths import Paths

LOOK_S = 60.0
"""How long is believed what the hub has said of us. It refuses what is not allowed any more."""


class Link:
    """Both sides. me: whom the hub takes this home for. key: what its member's own stream is sealed with here, if it is.

    outbox: how much waited to be sent when that was asked last.
    """

    me: Me

    def __init__(self, paths: Paths, ask: Ask, remote: Remote, busy: Callable[[], None] = lambda: None) -> None:
        """busy: told where another process has to be waited for. Raises HubError, RecalldError."""
        self._lock, self._ask, self._busy = paths.state / "hub.lock", ask, busy
        self.remote, self.outbox = remote, 0
        self.key: bytes | None = None
        self._looked = -math.inf
        self._look()

    @property
    def held(self) -> bool:
        """Whether the member's own stream has to wait, since it is sealed and the key is not here."""
        return (_check(self.key) if self.key else None) != self.me.sealed

    def cycle(self, told: Callable[[int], None] = lambda _: None) -> dict[str, Any]:
        """Bring both in step; returns what was done, in numbers. told: gets how many memories have come or gone."""
        with self._turn():
            done = self._cycle(told)
            self.waiting()  # what is written from now on is noticed by it
            return done

    def seal(self, key: bytes) -> None:
        """Have the member's own stream sealed with `key`, here and from now on; all of it is sent once more.

        Raises InputError where the hub knows another key.
        """
        with self._turn():
            first, check = self.me.sealed is None, _check(key)
            if not first and self.me.sealed != check:
                raise InputError("this is a recovery phrase, but not yours: the hub knows another")
            if first:  # what other machines sent in the clear is here before it is sent once more
                self._cycle(lambda _: None)
            self._ask("hub-seal", writes=True, key=key.hex())
            if first:
                self.remote.set_seal_check(check)
            self._looked = -math.inf
            self._look()

    def waiting(self) -> bool:
        """Whether there is something to tell the hub that was not there after the last cycle, or when this was asked."""
        state = self._ask("hub-state")
        before, self.outbox = self.outbox, state["outbox"]
        return self.outbox not in (0, before) or not all(one["announced"] for one in state["streams"])

    def total(self) -> int:
        """How much there is to come and to go, as far as that can be known."""
        state = self._ask("hub-state")
        there = dict(self.remote.streams())
        coming = [there.get(one["stream"], 0) - int(one["memories"]) for one in state["streams"] if one["receives"]]
        return int(state["outbox"]) + sum(max(0, number) for number in coming)

    def _cycle(self, told: Callable[[int], None]) -> dict[str, Any]:
        hold = frozenset([self.me.stream]) if self.held else frozenset()
        done = sync.cycle(self._ask, self.remote, self._seal(), hold=hold, told=told)
        return {**msgspec.structs.asdict(done), "held": self.held}

    def _seal(self) -> sync.Seal:
        if self.key is None:
            return _NoKey()
        from recalld.hub.sealing import Sealer  # late: most need no cipher

        return Sealer(self.me.member_id, self.key)

    def _look(self) -> None:
        """See what may be another since the last time; what the hub says of us, now and then."""
        kept = self._ask("hub-key")["key"]
        before, self.key = self.key, bytes.fromhex(kept) if kept else None
        if self.key != before or time.monotonic() - self._looked > LOOK_S:
            self.me, self._looked = self.remote.whoami(), time.monotonic()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Nobody else has to do with this home's hub during the block."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._busy()
                fcntl.flock(handle, fcntl.LOCK_EX)
            self._look()
            if self.key and self.me.sealed is None:
                # Another machine took all of it off the hub, or the hub was restored from before. Not sooner than here:
                # that the login is this home's member has been seen to, so it is nobody else's stream that is sealed.
                self.remote.set_seal_check(_check(self.key))
                self.me = self.remote.whoami()
            yield
        finally:
            os.close(handle)


def _check(key: bytes) -> bytes:
    from recalld.hub import sealing  # late, as above

    return sealing.check(key)


class _NoKey:
    """Seals nothing. Where something sealed comes, it was sealed since this cycle began: it waits for the next."""

    def close(self, item: Item) -> Item:
        """The item as it is."""
        return item

    def open(self, row: Row) -> Row:
        """The row as it is. Raises HubError."""
        if row.sealed is not None:
            raise HubError("what is yours alone was encrypted just now", away=True)
        return row


@contextlib.contextmanager
def linked(paths: Paths, hub: HubConfig, ask: Ask, busy: Callable[[], None] = lambda: None) -> Iterator[Link]:
    """Both sides, for the length of a block. busy: see `Link`.

    Raises InputError where they do not belong together, HubError.
    """
    state = ask("hub-state")
    if not state["joined"]:
        raise InputError("this home has not joined the hub that its settings name; `recalld hub join` does that")
    with Remote(hub.dsn, passfile=hub.passfile, device_id=state["device_id"]) as remote:
        link = Link(paths, ask, remote, busy)
        me = link.me
        if (me.org_id, me.member_id) != (state["org_id"], state["member_id"]):
            raise InputError(
                f"the settings lead to {me.member} of {me.org}, but this home belongs to {state['member']} of "
                f"{state['org']}; `recalld hub leave`, then `recalld hub join`"
            )
        if me.device_id is None:
            raise HubError(f"{me.org} does not know this device any more; `recalld hub join` takes it in again")
        yield link
