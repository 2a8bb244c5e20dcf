"""Telling which project a place belongs to, and remembering the place.

Every function runs inside a transaction that the caller began; `find` only reads.
"""

from __future__ import annotations

import logging
import os
import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Literal

import apsw
import msgspec

from recalld.model import moment, timestamp

Kind = Literal["map", "file", "git", "jj", "hg", "folder"]

NAME_CHARACTERS = 80
REFRESH = timedelta(days=1)

_log = logging.getLogger(__name__)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A folder as the file system shows it, with all that tells which project it belongs to.

    root: the project's top folder, absolute and resolved; for a linked worktree that of the main one (unless separate).
    identities: what the project is known by elsewhere too, strongest first: `name:...`, given by hand, or
    `remote:host/path`; empty where only the place itself is known.
    device, inode: of `root`. first_commit: see `repository.first_commit`.
    worktree: the linked worktree's name; None in the main one.
    """

    root: str
    name: str
    kind: Kind
    identities: tuple[str, ...]
    device: int
    inode: int
    first_commit: str | None = None
    git_dir: str | None = None
    common_dir: str | None = None
    worktree: str | None = None
    branch: str | None = None
    commit: str | None = None

    @property
    def named(self) -> bool:
        """Whether a person gave the name, in the config or a `.recalld.toml`."""
        return self.kind in ("map", "file")


class PlaceRow(msgspec.Struct, frozen=True):
    """A place as it was recorded."""

    path: str
    project_id: int
    device: int
    inode: int
    first_commit: str | None
    last_seen_at: str


def clean_name(text: str) -> str:
    """`text` as a project's name: one line, NFC, at most NAME_CHARACTERS; empty if nothing is left."""
    plain = "".join(
        " " if unicodedata.category(c)[0] in "CZ" and c not in "\u200c\u200d" else c
        for c in unicodedata.normalize("NFC", text)
    )
    return " ".join(plain.split())[:NAME_CHARACTERS].rstrip()


def find(db: apsw.Connection, place: Place) -> int | None:
    """The project `place` belongs to, as far as it is known already; None for a new one. Writes nothing.

    In this order: an identity; the same path; the same folder under another path (another spelling, a mount); a
    folder that was moved here from a path where it is gone. A copy has its original where it was and matches nothing.
    """
    for identity in place.identities:
        for (project,) in db.execute("select project_id from project_identities where identity = ?", (identity,)):
            return int(project)
    row = next(rows(db, "path = ?", place.root), None)
    if place.named:
        return row.project_id if row and _may_be_named(db, row.project_id) else None
    if row and (_same_folder(row, place) or not _other_repository(db, row.project_id, place)):
        return row.project_id
    return _moved(db, place)


def resolve(db: apsw.Connection, place: Place, now: datetime) -> int:
    """The project `place` belongs to, made if there is none; records what is new about the place.

    Writes only what differs, and `last_seen_at` once a day.

    A remote that no project has yet is taken up by the project already at this place: a remote was added, or the
    repository was renamed. The old remote is forgotten then, unless another place of the project may still have it:
    what was cloned from a template must not meet the template's other clones. A remote that another project has
    takes the place over to that one; the former project stays, to be merged by hand.
    """
    project = find(db, place)
    if project is None:
        project = _create(db, place.name, now)
    _take_identities(db, project, place)
    record(db, project, place, now)
    return project


def record(db: apsw.Connection, project: int, place: Place, now: datetime) -> None:
    """Keep where `project` was seen, writing only what differs; a place it has moved away from is forgotten."""
    at = timestamp(now)
    facts = (project, place.device, place.inode, place.first_commit)
    known = next(rows(db, "path = ?", place.root), None)
    if known is None:
        for other in list(rows(db, "project_id = ?", project)):
            if _still_there(other):
                if _same_folder(other, place):  # another spelling of a path that is recorded
                    return _seen(db, project, other.path, other.last_seen_at, now)
            elif _same_folder(other, place) or _same_commit(other, place):  # moved from there
                db.execute("delete from project_places where path = ?", (other.path,))
        db.execute(
            "insert into project_places (project_id, device, inode, first_commit, path, last_seen_at)"
            " values (?, ?, ?, ?, ?, ?)",
            (*facts, place.root, at),
        )
    elif (known.project_id, known.device, known.inode, known.first_commit) != facts:
        if known.project_id != project:
            _log.info("a place of project %d belongs to project %d now", known.project_id, project)
        db.execute(
            "update project_places set project_id = ?, device = ?, inode = ?, first_commit = ? where path = ?",
            (*facts, place.root),
        )
    return _seen(db, project, place.root, known.last_seen_at if known else "", now)


def rows(db: apsw.Connection, condition: str, *values: str | int) -> Iterator[PlaceRow]:
    """The recorded places that meet the SQL `condition`."""
    columns = "path, project_id, device, inode, first_commit, last_seen_at"
    for row in db.execute(f"select {columns} from project_places where {condition}", values):
        yield PlaceRow(*row)


def folder_id(path: str) -> tuple[int, int] | None:
    """Device and inode at `path`; None where nothing is, (-1, -1) where that cannot be seen (permissions)."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return -1, -1
    return status.st_dev, status.st_ino


def _take_identities(db: apsw.Connection, project: int, place: Place) -> None:
    known = {i for (i,) in db.execute("select identity from project_identities where project_id = ?", (project,))}
    new = [identity for identity in place.identities if identity not in known]
    if not new:
        return
    if place.named:
        db.execute("update projects set name = ? where project_id = ?", (place.name, project))
    elif not _elsewhere(db, project, place):
        db.execute("delete from project_identities where project_id = ? and identity glob 'remote:*'", (project,))
    for identity in new:
        db.execute("insert into project_identities (identity, project_id) values (?, ?)", (identity, project))


def _create(db: apsw.Connection, name: str, now: datetime) -> int:
    at = timestamp(now)
    db.execute("insert into projects (name, created_at, last_seen_at) values (?, ?, ?)", (name, at, at))
    return db.last_insert_rowid()


def _seen(db: apsw.Connection, project: int, path: str | None, last_seen_at: str, now: datetime) -> None:
    if last_seen_at and moment(last_seen_at) > now - REFRESH:
        return
    at = timestamp(now)
    db.execute("update project_places set last_seen_at = ? where path = ?", (at, path))
    db.execute("update projects set last_seen_at = ? where project_id = ? and last_seen_at < ?", (at, project, at))


def _may_be_named(db: apsw.Connection, project: int) -> bool:
    """Whether a name given at its place names `project` itself, rather than splitting that place off from it."""
    named = "select 1 from project_identities where project_id = ? and identity glob 'name:*'"
    places = "select path from project_places where project_id = ?"
    return not db.execute(named, (project,)).fetchall() and len(db.execute(places, (project,)).fetchall()) == 1


def _other_repository(db: apsw.Connection, project: int, place: Place) -> bool:
    """Whether `place` has a remote and `project` is known by other ones (asked after no identity matched)."""
    if not place.identities:
        return False
    sql = "select 1 from project_identities where project_id = ? and identity glob 'remote:*'"
    return db.execute(sql, (project,)).fetchone() is not None


def _moved(db: apsw.Connection, place: Place) -> int | None:
    """The project of the folder that `place` was under another path, if it surely is that folder."""
    for row in rows(db, "device = ? and inode = ?", place.device, place.inode):
        if _still_there(row) or _same_commit(row, place) or _was_there(row, place):
            return row.project_id
    if place.first_commit is None:
        return None
    candidates = {
        row.project_id
        for row in rows(db, "first_commit = ?", place.first_commit)
        if not _still_there(row) and not _other_repository(db, row.project_id, place)
    }
    return candidates.pop() if len(candidates) == 1 else None


def _was_there(row: PlaceRow, place: Place) -> bool:
    """Whether the folder now at `place`, of the same inode, existed when `row` was last seen.

    File systems give a deleted folder's inode to the next new one: without this, that would inherit its memories.
    The top of a file system says nothing: its inode is the same on every disk.
    """
    born = _born(place.root)
    return born is not None and born <= moment(row.last_seen_at).timestamp() and not os.path.ismount(place.root)


def _born(path: str) -> float | None:
    """When `path` was made, in seconds of the epoch; None where the system does not tell."""
    try:
        status: Any = os.stat(path)
        if hasattr(status, "st_birthtime"):
            return float(status.st_birthtime)
        return _statx_born(path)
    except (OSError, AttributeError, ValueError):
        return None


def _statx_born(path: str) -> float | None:
    """Linux's statx(2), which Python has no call for: btime is at byte 80, the mask of what is known at byte 0."""
    import ctypes  # only when a moved folder is looked at

    at_fdcwd, wants_btime = -100, 0x800
    buffer = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).statx(at_fdcwd, os.fsencode(path), 0, wants_btime, buffer) != 0:
        return None
    if not int.from_bytes(buffer.raw[0:4], "little") & wants_btime:
        return None
    seconds = int.from_bytes(buffer.raw[80:88], "little", signed=True)
    return seconds + int.from_bytes(buffer.raw[88:92], "little") / 1e9


def _same_folder(row: PlaceRow, place: Place) -> bool:
    return (row.device, row.inode) == (place.device, place.inode)


def _same_commit(row: PlaceRow, place: Place) -> bool:
    return row.first_commit is not None and row.first_commit == place.first_commit


def _still_there(row: PlaceRow) -> bool:
    return folder_id(row.path) in ((row.device, row.inode), (-1, -1))


def _elsewhere(db: apsw.Connection, project: int, place: Place) -> bool:
    return any(
        row.path != place.root and folder_id(row.path) is not None for row in rows(db, "project_id = ?", project)
    )
