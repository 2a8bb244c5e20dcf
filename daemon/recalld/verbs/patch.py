"""The verb that changes any fields of a memory in one write."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec
from msgspec import UNSET, UnsetType

from recalld.errors import InputError
from recalld.model import MAX_TAGS, Memory, Scope, Type
from recalld.store import memories
from recalld.verbs.context import Context, one_project
from recalld.verbs.memories import expiry, living, sentence, tag_names
from recalld.verbs.placing import part


class Patch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory, and what becomes another; what is left out stays as it is.

    version: the one that the writer saw. project: a name or a path; with it, the scope is `project`. expires: as
    `expiry` reads it, None for no end. local_only: it never leaves this machine, and no remote model sees it.
    """

    id: str
    version: int | None = None
    content: str | UnsetType = UNSET
    type: Type | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    scope: Scope | UnsetType = UNSET
    project: str | UnsetType = UNSET
    expires: str | UnsetType | None = UNSET
    local_only: bool | UnsetType = UNSET


def patch(db: apsw.Connection, context: Context, request: Patch) -> Memory:
    """Change them all or none. Raises ConflictError where `version` is not the stored one, InputError, NotFoundError."""
    memory = living(db, request.id)
    wanted = _fields(context, request) | _place(db, context, request, memory)
    if not wanted:
        raise InputError("say what to change: content, type, tags, pinned, scope, project, expires or local_only")
    stored = msgspec.structs.asdict(memory) | {"project_id": memories.project_of(db, memory.id)}
    changed = {name: value for name, value in wanted.items() if value != stored[name]}
    if changed:
        memories.update(db, memory.id, context.now, version=request.version, **changed)
    elif request.version not in (None, memory.version):
        raise memories.stale(memory.id, request.version)
    if "project_id" in changed:
        part(db, memory, context)
    return memories.find(db, memory.id)


def _fields(context: Context, request: Patch) -> dict[str, Any]:
    """The new values of what is the memory's own."""
    fields: dict[str, Any] = {}
    if request.content is not UNSET:
        fields["content"] = sentence(context, request.content)
    if request.type is not UNSET:
        fields["type"] = request.type
    if request.tags is not UNSET:
        fields["tags"] = tag_names(context, request.tags)
        if len(fields["tags"]) > MAX_TAGS:
            raise InputError(f"{len(fields['tags'])} tags; a memory has at most {MAX_TAGS}")
    if request.pinned is not UNSET:
        fields["pinned"] = request.pinned
    if request.expires is not UNSET:
        fields["expires_at"] = expiry(request.expires, context.now)
    if request.local_only is not UNSET:
        fields["local_only"] = request.local_only
    return fields


def _place(db: apsw.Connection, context: Context, request: Patch, memory: Memory) -> dict[str, Any]:
    """The scope and project where it is to hold from now on; nothing where that is not said."""
    scope = request.scope
    if request.project is not UNSET and request.project:
        if scope not in (UNSET, Scope.PROJECT):
            raise InputError(f"scope {scope} belongs to no project; give project or scope")
        return {"scope": Scope.PROJECT, "project_id": one_project(db, context, request.project, "").project_id}
    if scope is UNSET:
        return {}
    if scope is not Scope.PROJECT:
        return {"scope": scope, "project_id": None}
    if memory.scope is not Scope.PROJECT:
        raise InputError("scope project: name the project, too")
    return {"scope": scope}
