"""Many small memories of one topic -> one summary that keeps them word for word: pure rules, applied once a day.

Only what is out of use is taken: facts and lessons of one project that share a tag, small, said more than a week ago,
hardly ever given and never of use to an answer. Preferences and decisions stay what they are: they stand on their own
at a session's start. Nothing is reworded, so no number or name can change; what does not fit stays in force by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from recalld.model import Memory, Origin, Scope, Status, Type, moment, new_id, timestamp
from recalld.store import digests

ENOUGH = 12
"""So many small memories of one topic are many."""
FEWEST = 6
"""With fewer that fit, a summary saves nothing."""
QUIET = timedelta(days=7)
SMALL_CHARS = 160
MAX_CHARS = 700
"""A longer summary would not fit into what a prompt may be given (400 tokens)."""
RARELY = 2
"""Given so often at most."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """A summary to be, and the memories that it stands for, oldest first."""

    project_id: int
    topic: str
    content: str
    members: tuple[Memory, ...]


def plan(stored: Iterable[tuple[int, Memory]], now: datetime) -> list[Digest]:
    """The summaries that are due. stored: memories in force, each with the number of its project."""
    topics: dict[tuple[int, str], list[Memory]] = {}
    for project_id, memory in stored:
        if _quiet(memory, now):
            for tag in memory.tags:
                topics.setdefault((project_id, tag), []).append(memory)
    planned, taken = [], set[str]()
    for (project_id, tag), found in sorted(topics.items(), key=lambda item: (-len(item[1]), item[0])):
        left = [memory for memory in found if memory.id not in taken]
        if len(left) < ENOUGH:
            continue
        topic = tag.partition(":")[2] or tag
        members = _fitting(topic, left)
        if len(members) >= FEWEST:
            taken |= {memory.id for memory in members}
            content = digests.text(topic, [memory.content for memory in members])
            planned.append(Digest(project_id=project_id, topic=tag, content=content, members=members))
    return planned


def summary(digest: Digest, now: datetime) -> Memory:
    """The new memory that stands for the digest's members; as sure as the least sure, and kept here if any of them is."""
    members = digest.members
    theirs = all(memory.origin is Origin.USER for memory in members)
    return Memory(
        id=new_id(), scope=Scope.PROJECT, type=Type.SUMMARY, content=digest.content, tags=(digest.topic,),
        aliases=tuple(dict.fromkeys(alias for memory in members for alias in memory.aliases))[:20],
        source=digests.SOURCE, origin=Origin.USER if theirs else Origin.ASSISTANT,
        confidence=min(memory.confidence for memory in members), status=Status.ACTIVE,
        first_seen=min(memory.first_seen for memory in members), last_seen=max(memory.last_seen for memory in members),
        created_at=timestamp(now), updated_at=timestamp(now), local_only=any(memory.local_only for memory in members),
    )  # fmt: skip


def _quiet(memory: Memory, now: datetime) -> bool:
    since = max(memory.last_seen, memory.last_used or "", memory.updated_at)
    return (
        memory.type in (Type.FACT, Type.LESSON)
        and memory.scope is Scope.PROJECT
        and not (memory.pinned or memory.conflicts or memory.expires_at)
        and memory.useful_count <= 0
        and memory.hit_count <= RARELY
        and len(memory.content) <= SMALL_CHARS
        and digests.SEPARATOR not in memory.content
        and now - moment(since) >= QUIET
    )


def _fitting(topic: str, found: Sequence[Memory]) -> tuple[Memory, ...]:
    """As many as fit, those with numbers first, then the surest and newest; in the order they were first said."""
    order = sorted(found, key=lambda memory: memory.last_seen, reverse=True)
    order.sort(key=lambda memory: (not any(char.isdigit() for char in memory.content), -memory.confidence))
    room, members = MAX_CHARS - len(topic), []
    for memory in order:
        if len(memory.content) + len(digests.SEPARATOR) <= room:
            room -= len(memory.content) + len(digests.SEPARATOR)
            members.append(memory)
    return tuple(sorted(members, key=lambda memory: (memory.first_seen, memory.id)))
