"""One synchronisation: what is to be shared is announced, every stream is taken in, the outbox is sent.

It may be broken off between any two steps and begun again, and several may run at once: a page counts only where the
stream was left, and a push only on the version that it is based on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from recalld.hubwire import Item, Page, Result, Row

PAGE = 100
"""Rows of one page: what is taken in at once keeps hooks from writing for about 0.1 s."""
BATCH = 500
ROUNDS = 4
"""So often things are sent again that were changed at the hub meanwhile; the rest waits for the next time."""


class Remote(Protocol):
    """The hub. All raise HubError."""

    def mark(self) -> str:
        """A sign of all that the hub knows now."""

    def knows(self, mark: str) -> bool:
        """Whether the hub has been there; not so where it was restored from an older backup."""

    def news(self, cursors: Mapping[str, int]) -> frozenset[str]:
        """The streams that have something behind their cursors."""

    def pull(self, stream: str, cursor: int, limit: int = ...) -> Page:
        """What the stream has behind `cursor`."""

    def push(self, items: Sequence[Item]) -> list[Result]:
        """Store changes; what became of each, in their order."""

    def withdraw(self, stream: str, ids: Sequence[str]) -> list[Result]:
        """Take memories out of a stream."""

    def share(self, stream: str) -> None:
        """Let the member take part in a stream."""

    def unshare(self, stream: str, *, delete_mine: bool = False) -> None:
        """Take back `share`; with `delete_mine` what the member put there goes, too."""


class Seal(Protocol):
    """Closes what goes up and opens what comes down, where the member's own stream is sealed."""

    def close(self, item: Item) -> Item:
        """The item as it may be sent."""

    def open(self, row: Row) -> Row:
        """The row as it was before it was sealed. Raises ValueError where that cannot be done."""


Ask = Callable[..., Any]
"""Asks this home: a verb, `writes`, and the verb's arguments by name; returns plain data. Raises RecalldError."""


class Synced(msgspec.Struct, kw_only=True):
    """What a cycle did. left: changes that still wait."""

    pulled: int = 0
    pushed: int = 0
    withdrawn: int = 0
    conflicts: int = 0
    deleted: int = 0
    skipped: int = 0
    refused: int = 0
    left: int = 0


def cycle(
    ask: Ask,
    remote: Remote,
    seal: Seal | None = None,
    *,
    hold: frozenset[str] = frozenset(),
    told: Callable[[int], None] = lambda _: None,
    page: int = PAGE,
) -> Synced:
    """Bring this home and the hub in step; what was done, in numbers.

    hold: streams that are left alone. told: gets how many memories have come or gone since it was called last.
    """
    work = _Cycle(ask, remote, seal, hold, told, page)
    mark = work.recognise()
    work.announce()
    for number in range(ROUNDS):
        work.pull()
        if not work.push(reread=number > 0):
            break
    if work.erased:
        ask("hub-fold", writes=True)
    if (now := remote.mark()) != mark:
        ask("hub-mark", writes=True, mark=now)
    return work.done


class _Cycle:
    def __init__(
        self,
        ask: Ask,
        remote: Remote,
        seal: Seal | None,
        hold: frozenset[str],
        told: Callable[[int], None],
        page: int,
    ) -> None:
        self._ask, self._remote, self._seal, self._hold, self._told = ask, remote, seal, hold, told
        self._page = page
        self._gone = False
        self.done = Synced()

    @property
    def erased(self) -> bool:
        """Whether texts went from this home."""
        return self._gone or self.done.deleted > 0

    def recognise(self) -> str:
        """The hub's last sign. One that was restored since, or that now says more to us, is read and told all anew."""
        state = self._ask("hub-state")
        mark: str = state["mark"]
        if state["outgrown"] or (mark and not self._remote.knows(mark)):
            self._ask("hub-mark", writes=True)
        return mark

    def announce(self) -> None:
        """Tell the hub what is shared from now on, and what no longer."""
        for one in self._streams():
            if one["announced"]:
                continue
            if one["sends"]:
                self._remote.share(one["stream"])
            else:
                if one["delete_mine"] and one["stream"] not in self._hold:
                    self._take(one["stream"], one["cursor"])  # what only the hub has would be gone from everywhere
                self._remote.unshare(one["stream"], delete_mine=one["delete_mine"])
            self._ask("hub-announced", writes=True, stream=one["stream"])

    def pull(self) -> None:
        """Take in every stream to its end; again, where memories left one, to see whether they went into another."""
        for _ in range(ROUNDS):
            streams = [one for one in self._streams() if one["receives"] and one["stream"] not in self._hold]
            cursors = {one["stream"]: int(one["cursor"]) for one in streams}
            news = self._remote.news(cursors)
            left = sum(self._take(stream, cursors[stream]) for stream in cursors if stream in news)
            if not left:
                self.done.deleted += self._ask("hub-sweep", writes=True)["deleted"]
                return

    def push(self, *, reread: bool) -> bool:
        """Send what waits, once each; whether something was changed at the hub meanwhile.

        reread: it is not the first time.
        """
        after = 0
        stale = False
        while True:
            out = self._ask("hub-outbox", writes=True, limit=BATCH, after=after, hold=sorted(self._hold))
            settled = self._settled(msgspec.convert(out["items"], list[Item]))
            withdrawn = self._withdrawn(out["withdrawals"])
            if settled or withdrawn:
                self._ask("hub-settle", writes=True, settled=settled, withdrawn=withdrawn, reread=reread)
            stale = stale or any(one["outcome"] == "stale" for one in settled)
            self._gone = self._gone or any(one["outcome"] == "gone" for one in (*settled, *withdrawn))
            self.done.left = out["left"] - sum(one["outcome"] != "stale" for one in (*settled, *withdrawn))
            self._told(len(settled) + len(withdrawn))
            if (after := out["next"]) is None:
                return stale

    def _streams(self) -> list[dict[str, Any]]:
        streams: list[dict[str, Any]] = self._ask("hub-state")["streams"]
        return streams

    def _take(self, stream: str, cursor: int) -> int:
        """Take in a stream to its end; how many memories have left it."""
        left = 0
        while True:
            page = self._remote.pull(stream, cursor, self._page)
            opened = tuple(self._opened(row) for row in page.rows)
            page = msgspec.structs.replace(page, rows=opened)
            taken = self._ask("hub-take", writes=True, page=msgspec.to_builtins(page))
            self.done.pulled += taken["taken"] + taken["conflicts"]
            self.done.conflicts += taken["conflicts"]
            self.done.deleted += taken["deleted"]
            self.done.skipped += taken["skipped"]
            self._told(len(page.rows) + len(page.withdrawn))
            left += len(page.withdrawn)
            if not page.more or taken["cursor"] <= cursor:
                return left
            cursor = taken["cursor"]

    def _opened(self, row: Row) -> Row:
        """The row in the clear; one that cannot be opened has no body, and is skipped and named."""
        if self._seal is None:
            return row
        try:
            return self._seal.open(row)
        except ValueError:
            return msgspec.structs.replace(row, body=None, sealed=None, steps=(), sealed_steps=())

    def _settled(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        if not items:
            return []
        closed = [self._seal.close(item) for item in items] if self._seal else items
        results = self._remote.push(closed)
        self.done.pushed += sum(one.outcome in ("stored", "same") for one in results)
        self.done.refused += sum(one.outcome == "refused" for one in results)
        return [_answer(one, item.stream, item.digest) for one, item in zip(results, items, strict=True)]

    def _withdrawn(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []
        for stream in dict.fromkeys(stream for stream, _ in pairs):
            ids = [memory_id for one, memory_id in pairs if one == stream]
            results = self._remote.withdraw(stream, ids)
            self.done.withdrawn += sum(one.outcome in ("stored", "same") for one in results)
            self.done.refused += sum(one.outcome == "refused" for one in results)
            told += [_answer(one, stream, b"") for one in results]
        return told


def _answer(result: Result, stream: str, digest: bytes) -> dict[str, Any]:
    """A result as `hub-settle` takes it."""
    plain: dict[str, Any] = msgspec.to_builtins({"stream": stream, "digest": digest, **msgspec.structs.asdict(result)})
    return plain
