"""Verbs about tags."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from recalld.answers import TagCount
from recalld.errors import InputError
from recalld.model import MAX_TAGS, Memory, Status
from recalld.store import memories
from recalld.store.memories import Filter
from recalld.verbs.context import Context, chosen_projects
from recalld.verbs.memories import living, tag_names

LIVING = (Status.ACTIVE, Status.PENDING, Status.SUPERSEDED, Status.ARCHIVED)


class Tag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory, and the tags it gets and loses."""

    id: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


def tag(db: apsw.Connection, context: Context, request: Tag) -> Memory:
    """Change a memory's tags. Raises InputError where nothing is said, and for too many tags."""
    memory = living(db, request.id)
    added, removed = tag_names(context, request.add), tag_names(context, request.remove)
    if not added and not removed:
        raise InputError("name a tag to add or to remove")
    left = tuple(name for name in dict.fromkeys((*memory.tags, *added)) if name not in removed)
    if len(left) > MAX_TAGS:
        raise InputError(f"{memory.id} would have {len(left)} tags; a memory has at most {MAX_TAGS}")
    if left != memory.tags:
        memories.update(db, memory.id, context.now, tags=left)
    return memories.find(db, memory.id)


class Retag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Memories, and the tags that each of them gets and loses."""

    ids: tuple[str, ...]
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


def retag(db: apsw.Connection, context: Context, request: Retag) -> list[Memory]:
    """`tag` for several at once, or for none of them."""
    ids = dict.fromkeys(request.ids)
    return [tag(db, context, Tag(id=one, add=request.add, remove=request.remove)) for one in ids]


class Tags(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which project."""

    cwd: str = ""
    project: str | None = None


def list_(db: apsw.Connection, context: Context, request: Tags) -> list[TagCount]:
    """The tags in use, the most used first."""
    condition, values = Filter(projects=chosen_projects(db, context, request.project, request.cwd)).sql()
    rows: list[tuple[Any, ...]] = db.execute(
        f"""select t.value, count(*) from memories m, json_each(m.tags) t where {condition}
            group by t.value order by count(*) desc, t.value""",
        values,
    ).fetchall()
    return [TagCount(*row) for row in rows]


class Rename(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tag's old name and its new one; where the new one is in use already, both become one."""

    old: str
    new: str
    cwd: str = ""
    project: str | None = None


def rename(db: apsw.Connection, context: Context, request: Rename) -> list[Memory]:
    """Give a tag another name, in every memory of the project and of the user that has it, whatever its status."""
    (old,), (new,) = _one(context, request.old), _one(context, request.new)
    wanted = Filter(projects=chosen_projects(db, context, request.project, request.cwd), statuses=LIVING, tag=old)
    found = memories.listing(db, wanted)
    if not found:
        raise InputError(f"no memory here has the tag {old}; `recalld tags` lists them")
    if old == new:
        return found
    for memory in found:
        names = tuple(dict.fromkeys(new if name.lower() == old else name for name in memory.tags))
        memories.update(db, memory.id, context.now, tags=names)
    return [memories.find(db, memory.id) for memory in found]


def _one(context: Context, name: str) -> tuple[str, ...]:
    if not (names := tag_names(context, (name,))):
        raise InputError("a tag must not be empty")
    return names
