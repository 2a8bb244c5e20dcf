"""A store in a dict that applies the changes of consolidation, for tests of what they add up to over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from recalld import decay, fingerprint
from recalld.config import ConflictConfig, KeepConfig
from recalld.consolidate import Add, Change, Conflict, Past, Supersede, Touch, Update, plan
from recalld.model import Candidate, Memory, Neighbour, Origin, Scope, Status, Type, timestamp

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
KEY = bytes(range(32))
LIVE = frozenset({Status.ACTIVE, Status.PENDING})

Similar = Callable[[Sequence[str]], Any]


def memory(identity: str, content: str, **fields: Any) -> Memory:
    """A stored memory, seen at START."""
    at = timestamp(START)
    known: dict[str, Any] = {"scope": Scope.PROJECT, "type": Type.FACT, "source": "claude-code", "confidence": 0.9}
    times = {"first_seen": at, "last_seen": at, "created_at": at, "updated_at": at}
    return Memory(id=identity, content=content, **{**known, **times, **fields})


class Book:
    """encode: texts -> unit vectors; None where the cosine plays no part."""

    def __init__(self, encode: Similar | None = None, policy: ConflictConfig | None = None) -> None:
        self.encode = encode
        self.policy = policy or ConflictConfig()
        self.now = START
        self.memories: dict[str, Memory] = {}
        self.texts: dict[str, list[str]] = {}
        self.sources: dict[str, set[str]] = {}
        self.tombstones: dict[str, bytes] = {}
        self.said: dict[str, tuple[datetime, Candidate]] = {}

    def contents(self, *statuses: Status) -> list[str]:
        return [m.content for m in self.memories.values() if m.status in statuses]

    def say(self, turn: str, candidate: Candidate) -> list[Change]:
        """One statement of the turn `turn`, a minute after the last one."""
        self.now += timedelta(minutes=1)
        candidate = replace(candidate, prompt_id=turn)
        self.said[turn] = (self.now, candidate)
        return self._learn(candidate, self.now)

    def replay(self, turn: str) -> list[Change]:
        """The same turn extracted once more."""
        said_at, candidate = self.said[turn]
        return self._learn(candidate, said_at)

    def remember(self, content: str) -> list[Change]:
        """`recalld add`: by hand."""
        self.now += timedelta(minutes=1)
        return self._learn(Candidate(content=content, confidence=1.0, explicit=True), self.now, "cli")

    def delete(self, part: str) -> None:
        for found in self._active(part):
            blob, _ = fingerprint.fingerprint([found.content, *self.texts.get(found.id, ())], KEY)
            self.tombstones[found.id] = blob
            self.memories[found.id] = replace(found, status=Status.DELETED, content="")

    def edit(self, part: str, content: str) -> None:
        (found,) = self._active(part)
        self._put(replace(found, content=content))

    def days(self, number: float) -> None:
        self.now += timedelta(days=number)
        for found in list(self.memories.values()):
            if (status := decay.due(found, self.now, KeepConfig())) is not None:
                self.memories[found.id] = replace(found, status=status)

    def _active(self, part: str) -> list[Memory]:
        return [m for m in self.memories.values() if m.status is Status.ACTIVE and part.lower() in m.content.lower()]

    def _learn(self, candidate: Candidate, said_at: datetime, source: str = "claude-code") -> list[Change]:
        tombs = [
            fingerprint.Tombstone(blob, frozenset(self.sources.get(identity, ())))
            for identity, blob in self.tombstones.items()
        ]
        changes = plan(
            candidate,
            self._neighbours(candidate),
            self.policy,
            said_at,
            source,
            past=self._past(candidate),
            blocked=fingerprint.blocks(candidate, tombs, KEY),
        )
        for change in changes:
            self._apply(change, source, said_at)
        return changes

    def _neighbours(self, candidate: Candidate) -> list[Neighbour]:
        live = [m for m in self.memories.values() if m.status in LIVE]
        if not live or self.encode is None:
            return [Neighbour(m, 0.0, 0.0) for m in live]
        first, *others = self.encode([candidate.content or candidate.revokes, *(m.content for m in live)])
        return [Neighbour(m, max(0.0, float(first @ other)), 0.0) for m, other in zip(live, others, strict=True)]

    def _past(self, candidate: Candidate) -> list[Past]:
        known = [self.memories[i] for i, turns in self.sources.items() if candidate.prompt_id in turns]
        return [Past(m, tuple(self.texts.get(m.id, ()))) for m in known if m.status is not Status.DELETED]

    def _put(self, changed: Memory) -> None:
        if (before := self.memories.get(changed.id)) is not None and before.content != changed.content:
            self.texts.setdefault(changed.id, []).append(before.content)
        self.memories[changed.id] = changed

    def _seen(self, identity: str, prompt_id: str | None) -> None:
        if prompt_id is not None:
            self.sources.setdefault(identity, set()).add(prompt_id)

    def _apply(self, change: Change, source: str, said_at: datetime) -> None:
        seen_at = timestamp(said_at)
        if isinstance(change, Add):
            self._add(change, source, seen_at)
        elif isinstance(change, Touch):
            found = self.memories[change.id]
            last = max(found.last_seen, seen_at)
            self._put(replace(found, last_seen=last, confidence=change.confidence))
            self._seen(change.id, change.prompt_id)
        elif isinstance(change, Update):
            found = self.memories[change.id]
            version = found.version + 1
            self._put(replace(found, content=change.content, confidence=change.confidence, version=version))
            self._seen(change.id, change.prompt_id)
        elif isinstance(change, Supersede):
            found = self.memories[change.id]
            self._put(replace(found, status=Status.SUPERSEDED, superseded_by=change.by))
            self._seen(change.id, change.prompt_id)
        elif isinstance(change, Conflict):
            self._conflict(change.older, change.newer)

    def _add(self, change: Add, source: str, seen_at: str) -> None:
        identity, made = f"m-{len(self.memories)}", change.candidate
        self.memories[identity] = memory(
            identity,
            made.content,
            scope=made.scope,
            type=made.type,
            origin=made.origin or Origin.USER,
            source=source,
            confidence=made.confidence,
            status=Status.SUPERSEDED if change.superseded_by else change.status,
            superseded_by=change.superseded_by,
            related=change.related,
            pinned=change.pinned,
            expires_at=made.expires_at,
            last_seen=seen_at,
        )
        self._seen(identity, made.prompt_id)
        for old in change.supersedes:
            self._put(replace(self.memories[old], status=Status.SUPERSEDED, superseded_by=identity))
        for old in change.conflicts:
            self._conflict(old, identity)

    def _conflict(self, older: str, newer: str) -> None:
        for one, other in ((older, newer), (newer, older)):
            known = self.memories[one]
            self._put(replace(known, conflicts=(*known.conflicts, other)))
