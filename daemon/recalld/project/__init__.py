"""Which project a working directory belongs to, told from files alone. `store.places` remembers it.

In this order: `[projects] map` of the config · a `.recalld.toml` (`project = "name"`) in the folder or above · the
repository (git, jj, hg) · the folder itself. The search upward ends below $HOME and what holds it, below temp folders
and below `/`: these are no projects, and what lies in them (a dotfiles repository, a stranger's file) claims nothing.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from recalld.config import ProjectsConfig
from recalld.project import repository
from recalld.project.repository import Head, Repository
from recalld.store.places import Kind, Place, clean_name

__all__ = ["Excluded", "Place", "locate", "masked", "masked_path"]

PROJECT_FILE = ".recalld.toml"
PROJECT_FILE_BYTES = 16384
_TEMP = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm")


class Excluded(msgspec.Struct, frozen=True):
    """recalld does nothing here. rule: the `[projects]` setting that says so, for people."""

    rule: str


class _Named(msgspec.Struct, frozen=True):
    folder: str
    name: str
    from_map: bool


def locate(cwd: Path, config: ProjectsConfig, home: Path | None = None) -> Place | Excluded | None:
    """The project's place for `cwd`; None where only the user scope applies ($HOME, /, a temp folder, a deleted cwd).

    Of a folder that is not on this machine, such as a container's, the map may still tell the project.
    Never raises for what it finds on disk. `.recalld.toml` and repositories count only if they belong to this user,
    root, or the owner of `cwd`. A linked worktree belongs to its main repository, its names included, unless
    `worktrees = "separate"` or a `.recalld.toml` of its own says otherwise; a submodule is its own project. A broken
    `.git` file makes its folder a plain one.
    """
    here = os.fspath(cwd)
    house = os.path.realpath(home or os.path.expanduser("~"))
    if not os.path.isabs(here) or not _is_path(here):
        return None
    start = os.path.realpath(here)
    # Before the look whether it is there: a folder that was excluded stays so when it has been deleted.
    if rule := _excluded({os.path.normpath(here), start}, config, house):
        return Excluded(rule)
    try:
        status = os.stat(start)
    except OSError:
        return _absent(start, config, house)
    if not stat.S_ISDIR(status.st_mode):
        return None
    owners = {os.getuid(), 0, status.st_uid}
    folders = list(_upward(start, house))
    repo, top = _repository(folders, owners)
    if repo and repo.worktree and (rule := _excluded({repo.main}, ProjectsConfig(exclude=config.exclude), house)):
        return Excluded(rule)
    separate = repo is not None and repo.worktree is not None and config.worktrees == "separate"
    named = _mapped(start, config, house) or _by_file(_until(folders, top) if separate else folders, owners)
    if not named and repo and repo.worktree and not separate:
        named = _mapped(repo.main, config, house) or _by_file(list(_upward(repo.main, house)), owners)
    if named:
        return _place(named.folder, "map" if named.from_map else "file", repo, name=named.name)
    if repo:
        return _place(repo.tree if separate else repo.main, repo.kind, repo, separate=separate)
    return _place(top or start, "folder", None) if folders else None


def masked(place: Place, mask: Callable[[str], str]) -> Place:
    """`place` as it may be stored: a secret in a path, a remote or a branch is masked, and two such stay two."""
    return msgspec.structs.replace(
        place,
        root=masked_path(place.root, mask),
        name=clean_name(mask(place.name)) or "unnamed",
        identities=tuple(masked_path(identity, mask) for identity in place.identities),
        git_dir=mask(place.git_dir) if place.git_dir else None,
        common_dir=mask(place.common_dir) if place.common_dir else None,
        worktree=mask(place.worktree) if place.worktree else None,
        branch=mask(place.branch) if place.branch else None,
    )


def masked_path(path: str, mask: Callable[[str], str]) -> str:
    """`path` without secrets; where it had one, a digest of the whole keeps two of the same look apart."""
    without = mask(path)
    return path if without == path else f"{without}~{hashlib.sha256(path.encode(errors='replace')).hexdigest()[:8]}"


def _place(root: str, kind: Kind, repo: Repository | None, *, name: str = "", separate: bool = False) -> Place | None:
    try:
        status = os.stat(root)
    except OSError:
        return None
    at = repository.head(repo) if repo else Head()
    remote = repository.remote(repo) if repo and not name and not separate else None
    identities: tuple[str, ...] = (remote.identity,) if remote else ()
    if name:
        identities = (_identity(name),)
    folder_name = os.path.basename(root).removesuffix(".git") or root
    own_log = repo and (repo.own_dir if separate else repo.common_dir)
    return Place(
        root=_text(root),
        name=clean_name(name or (remote.name if remote else _text(folder_name))) or "unnamed",
        kind=kind,
        identities=identities,
        device=status.st_dev,
        inode=status.st_ino,
        first_commit=repository.first_commit(own_log) if own_log and not name else None,
        git_dir=_text(repo.own_dir) if repo else None,
        common_dir=_text(repo.common_dir) if repo else None,
        worktree=clean_name(_text(repo.worktree)) if repo and repo.worktree else None,
        branch=clean_name(_text(at.branch)) if at.branch else None,
        commit=at.commit,
    )


def _absent(folder: str, config: ProjectsConfig, house: str) -> Place | None:
    """The place of a folder that is not there, by the map alone."""
    if not (named := _mapped(folder, config, house)):
        return None
    return Place(
        root=_text(named.folder), name=named.name, kind="map", identities=(_identity(named.name),), device=0, inode=0
    )


def _identity(name: str) -> str:
    """What a project is known by that a person gave this name."""
    return f"name:{unicodedata.normalize('NFC', name.casefold())}"


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _text(path: str) -> str:
    """`path` as text a database takes: bytes that are no UTF-8 are written out, so that two stay two."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _upward(start: str, house: str) -> Iterator[str]:
    """`start` and the folders above it that may be a project, innermost first."""
    ends = {house, *map(str, Path(house).parents), "/", *_temp_folders()}
    at_home = _stat(house)
    folder = start
    while folder not in ends:
        status = _stat(folder)
        everyones = stat.S_ISVTX | stat.S_IWOTH  # anyone may put things there, as into a temp folder
        if status and (status.st_mode & everyones == everyones or (at_home and os.path.samestat(status, at_home))):
            return
        yield folder
        folder = os.path.dirname(folder)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


@functools.cache
def _temp_folders() -> frozenset[str]:
    return frozenset(os.path.realpath(path) for path in (*_TEMP, os.environ.get("TMPDIR") or "/tmp"))


def _repository(folders: list[str], owners: set[int]) -> tuple[Repository | None, str | None]:
    """The innermost repository and its tree's top; (None, top) where that is broken; (None, None) without one."""
    for folder in folders:
        found = repository.repository_at(folder)
        if found is None or not _owned(folder, owners):
            continue
        return (None, folder) if found == "broken" else (found, folder)
    return None, None


def _owned(folder: str, owners: set[int]) -> bool:
    status = _stat(folder)
    return status is not None and status.st_uid in owners


def _until(folders: list[str], last: str | None) -> list[str]:
    return folders[: folders.index(last) + 1] if last in folders else folders


def _by_file(folders: list[str], owners: set[int]) -> _Named | None:
    """What the innermost usable `.recalld.toml` says."""
    for folder in folders:
        found = repository.read_bytes(f"{folder}/{PROJECT_FILE}", PROJECT_FILE_BYTES, os.O_NOFOLLOW)
        if found is None or found[1].st_uid not in owners:
            continue
        try:
            name = tomllib.loads(found[0].decode("utf-8-sig")).get("project")
        except (ValueError, RecursionError):
            continue
        if isinstance(name, str) and (clean := clean_name(name)):
            return _Named(folder, clean, from_map=False)
    return None


def _mapped(folder: str, config: ProjectsConfig, house: str) -> _Named | None:
    """The longest path of `[projects] map` that `folder` is in."""
    best: _Named | None = None
    for written, name in config.map.items():
        path = os.path.realpath(_expanded(written, house))
        inside = folder == path or folder.startswith(path.rstrip("/") + "/")
        if os.path.isabs(_expanded(written, house)) and inside and (clean := clean_name(name)):
            best = max(best or _Named("", "", from_map=True), _Named(path, clean, from_map=True), key=_depth)
    return best


def _depth(named: _Named) -> int:
    return len(named.folder)


def _expanded(path: str, house: str) -> str:
    return house + path[1:] if path == "~" or path.startswith("~/") else path


def _excluded(spellings: set[str], config: ProjectsConfig, house: str) -> str:
    """The setting that keeps recalld out of a folder with these spellings; empty if it may work there."""
    for glob in config.exclude:
        if _matches(glob, spellings, house):
            return f"exclude = {glob!r}"
    if config.include and not any(_matches(glob, spellings, house) for glob in config.include):
        return "include: no pattern matches"
    return ""


def _matches(glob: str, spellings: set[str], house: str) -> bool:
    """Whether `glob`, as written or with its own symlinks followed, takes in one of the spellings of a folder."""
    written = _expanded(glob, house)
    fixed = re.split(r"/(?=[^/]*[*?\[])", written, maxsplit=1)
    followed = "/".join([os.path.realpath(fixed[0]), *fixed[1:]]) if written.startswith("/") and fixed[0] else written
    return any(_pattern(form).fullmatch(path) for form in {written, followed} for path in spellings)


@functools.lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    """`glob` for a folder and all below it. `*` and `?` stay within a name, `**` is any folders, also none.

    A glob that does not start with `/` may begin at any folder.
    """
    anchored = glob.startswith("/")
    parts = [part for part in glob.split("/") if part]
    body = "".join("(?:/[^/]+)*" if part == "**" else "/" + _name_pattern(part) for part in parts)
    return re.compile(("" if anchored else "(?:/[^/]+)*") + body + "(?:/.*)?", re.DOTALL)


def _name_pattern(glob: str) -> str:
    """One name of a glob: `*`, `?` and `[abc]`, `[!abc]`."""
    out = []
    for mark in re.finditer(r"\*+|\?|\[!?\]?[^\]]*\]|.", glob, re.DOTALL):
        if mark[0][0] == "*":
            out.append("[^/]*")
        elif mark[0] == "?":
            out.append("[^/]")
        elif len(mark[0]) > 1:
            inner = mark[0][1:-1]
            negated = inner.startswith("!")
            out.append(f"[{'^' if negated else ''}{re.escape(inner[negated:]).replace(chr(92) + '-', '-')}]")
        else:
            out.append(re.escape(mark[0]))
    return "".join(out)
