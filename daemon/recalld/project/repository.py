"""What the files of a git, jj or hg repository say about it. No program is started and nothing is written.

Every file may be hostile: reads are bounded, never block (FIFO, device), and an answer is only ever text that has
been checked for shape. Includes and `insteadOf` in a git config are not followed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Literal

import msgspec

from recalld.project.remote import Remote, parse_remote

CONFIG_BYTES = 1 << 20
PACKED_REFS_BYTES = 1 << 20
POINTER_BYTES = 8192
_LINE_BYTES = 4096

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+")
_NEXT_SECTION = r"(?=^[ \t]*\[|\Z)"
_GIT_REMOTE = re.compile(
    r'^[ \t]*\[[ \t]*remote[ \t]+"((?:[^"\\\n]|\\.)*)"[ \t]*\](.*?)' + _NEXT_SECTION,
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_GIT_CORE = re.compile(r"^[ \t]*\[[ \t]*core[ \t]*\](.*?)" + _NEXT_SECTION, re.MULTILINE | re.DOTALL | re.IGNORECASE)
_HG_PATHS = re.compile(r"^\[paths\](.*?)" + _NEXT_SECTION, re.MULTILINE | re.DOTALL)


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree and the repository behind it. All paths are absolute and resolved.

    tree: top of the working tree at hand. main: top of the repository's main working tree (the same, unless linked;
    the repository folder itself where that is bare).
    own_dir: where this tree's HEAD is. common_dir: what all trees share.
    worktree: the linked tree's name, None for the main one.
    """

    kind: Literal["git", "jj", "hg"]
    tree: str
    main: str
    own_dir: str
    common_dir: str
    worktree: str | None = None


class Head(msgspec.Struct, frozen=True):
    """The branch and commit a tree is at; None where unknown (detached, unborn, reftable, jj)."""

    branch: str | None = None
    commit: str | None = None


def read_bytes(path: str, limit: int, flags: int = 0) -> tuple[bytes, os.stat_result] | None:
    """Up to `limit` bytes of the regular file `path` and its stat; None for anything else or unreadable."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        return os.read(handle, min(limit, status.st_size)), status
    except OSError:
        return None
    finally:
        os.close(handle)


def repository_at(folder: str) -> Repository | Literal["broken"] | None:
    """The repository whose working tree has its top at `folder` (resolved).

    None: there is none here, look further up. "broken": a `.git` file is here but leads nowhere, so the folder is a
    tree of its own, of which no more can be known.
    """
    return _git_at(folder) or _jj_at(folder) or _hg_at(folder)


def head(repo: Repository) -> Head:
    """Where `repo`'s tree stands now."""
    if repo.kind == "git":
        return _git_head(repo)
    if repo.kind == "hg":
        branch = _line(repo.own_dir + "/branch") or "default"
        found = read_bytes(repo.own_dir + "/dirstate", 20)
        # dirstate v2 starts with its name; its docket is not worth a parser.
        known = found is not None and len(found[0]) == 20 and not found[0].startswith(b"dirstate-v2") and any(found[0])
        return Head(branch, found[0].hex() if found and known else None)
    return Head()


def remote(repo: Repository) -> Remote | None:
    """The remote that says which repository this is: `origin`, else `upstream`, else the first by name."""
    if repo.kind == "hg":
        urls = _hg_urls(_text(repo.common_dir + "/hgrc"))
    else:
        git_dir = repo.common_dir if repo.kind == "git" else _jj_git_dir(repo.common_dir)
        urls = _git_urls(_text(git_dir + "/config")) if git_dir else {}
    for name in sorted(urls, key=lambda n: (n not in ("origin", "default"), n != "upstream", n)):
        if known := parse_remote(urls[name], repo.main):
            return known
    return None


def first_commit(own_dir: str) -> str | None:
    """`<object id> <unix seconds>` of the first line of the HEAD log: equal in a copy, different in another clone.

    The log may expire (90 days), so that the answer may change once; its message is not kept (it may hold a URL).
    """
    line = _line(own_dir + "/logs/HEAD", strip=False)
    fields = line.partition("\t")[0].split(" ") if line else []
    if len(fields) < 4 or not _OBJECT_ID.fullmatch(fields[1]) or not re.fullmatch(r"[0-9]{1,12}", fields[-2]):
        return None
    return f"{fields[1]} {fields[-2]}"


def _git_at(folder: str) -> Repository | Literal["broken"] | None:
    dot_git = folder + "/.git"
    try:
        mode = os.stat(dot_git).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        if not _there(dot_git + "/HEAD"):
            return None  # as git does: an empty `.git` folder is no repository
        own_dir = os.path.realpath(dot_git)
    elif stat.S_ISREG(mode):
        line = _line(dot_git)
        if not line or not line.startswith("gitdir:"):
            return "broken"
        own_dir = os.path.realpath(os.path.join(folder, line[len("gitdir:") :].strip()))
        if not _there(own_dir + "/HEAD"):
            return "broken"
    else:
        return None
    shared = _line(own_dir + "/commondir")
    if shared is None:
        return Repository(kind="git", tree=folder, main=folder, own_dir=own_dir, common_dir=own_dir)
    common = os.path.realpath(os.path.join(own_dir, shared))
    if not _there(common + "/HEAD"):
        return "broken"
    return Repository(
        kind="git",
        tree=folder,
        main=_main_tree(common) or folder,
        own_dir=own_dir,
        common_dir=common,
        worktree=os.path.basename(own_dir),
    )


def _main_tree(common: str) -> str | None:
    """The folder that stands for the repository `common`; None where only the linked tree itself can."""
    parent, name = os.path.split(common)
    if name == ".git":
        return parent
    core = _GIT_CORE.search(_text(common + "/config"))
    if core and (named := _value(core[1], "worktree")):
        # A submodule's: believed only if that tree points back, since the text may say anything.
        tree = os.path.realpath(os.path.join(common, named))
        line = _line(tree + "/.git")
        back = line is not None and line.startswith("gitdir:")
        if line and back and os.path.realpath(os.path.join(tree, line[len("gitdir:") :].strip())) == common:
            return tree
    if "/.git/" in common:
        return None
    return parent if name.startswith(".") else common


def _git_head(repo: Repository) -> Head:
    line = _line(repo.own_dir + "/HEAD")
    if not line:
        return Head()
    if not line.startswith("ref:"):
        return Head(commit=line if _OBJECT_ID.fullmatch(line) else None)
    ref = line[len("ref:") :].strip()
    if not _REF.fullmatch(ref) or ".." in ref or ref == "refs/heads/.invalid":  # .invalid: the refs are in a reftable
        return Head()
    commit = _line(f"{repo.common_dir}/{ref}")
    if not commit or not _OBJECT_ID.fullmatch(commit):
        commit = _packed(repo.common_dir, ref)
    return Head(ref.removeprefix("refs/heads/"), commit)


def _packed(common: str, ref: str) -> str | None:
    found = read_bytes(common + "/packed-refs", PACKED_REFS_BYTES)
    match = (
        re.search(rb"^([0-9a-f]{40,64}) " + re.escape(os.fsencode(ref)) + rb"$", found[0], re.MULTILINE)
        if found
        else None
    )
    return match[1].decode() if match else None


def _git_urls(config: str) -> dict[str, str]:
    urls: dict[str, str] = {}
    for section in _GIT_REMOTE.finditer(config):
        if url := _value(section[2], "url"):
            urls.setdefault(re.sub(r"\\(.)", r"\1", section[1]), url)
    return urls


def _value(body: str, key: str) -> str:
    """The first value of `key` in a git config section's `body`, unquoted; empty if there is none."""
    found = re.search(rf"^[ \t]*{key}[ \t]*=[ \t]*(.*)$", body, re.MULTILINE | re.IGNORECASE)
    if not found:
        return ""
    text, quoted, out = found[1], False, []
    for mark in re.finditer(r'\\(.)|"|[#;]|[^\\"#;]+', text):
        if mark[0] == '"':
            quoted = not quoted
        elif mark[0] in "#;" and not quoted:
            break
        else:
            out.append(mark[1] or mark[0])
    return "".join(out).strip()


def _jj_at(folder: str) -> Repository | None:
    own_dir = folder + "/.jj"
    if not os.path.isdir(own_dir):
        return None
    pointer, common = _line(own_dir + "/repo"), own_dir + "/repo"
    if pointer:  # a second workspace: a file that names the first one's
        common = os.path.realpath(os.path.join(own_dir, pointer))
    if not os.path.isdir(common):
        return None
    linked = pointer is not None and os.path.basename(os.path.dirname(common)) == ".jj"
    main = os.path.dirname(os.path.dirname(common)) if linked else folder
    name = os.path.basename(folder) if main != folder else None
    return Repository(kind="jj", tree=folder, main=main, own_dir=own_dir, common_dir=common, worktree=name)


def _jj_git_dir(common: str) -> str | None:
    store = common + "/store"
    target = _line(store + "/git_target")
    return os.path.realpath(os.path.join(store, target)) if target else None


def _hg_at(folder: str) -> Repository | None:
    own_dir = folder + "/.hg"
    if not os.path.isdir(own_dir):
        return None
    shared = _line(own_dir + "/sharedpath")
    common = os.path.realpath(os.path.join(own_dir, shared)) if shared else own_dir
    linked = common != own_dir and os.path.basename(common) == ".hg" and os.path.isdir(common)
    main = os.path.dirname(common) if linked else folder
    name = os.path.basename(folder) if linked else None
    return Repository(
        kind="hg", tree=folder, main=main, own_dir=own_dir, common_dir=common if linked else own_dir, worktree=name
    )


def _hg_urls(hgrc: str) -> dict[str, str]:
    return dict(_pairs("".join(section[1] for section in _HG_PATHS.finditer(hgrc))))


def _pairs(body: str) -> Iterator[tuple[str, str]]:
    for line in body.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";", " ", "\t")):
            yield key.strip(), value.strip()


def _there(path: str) -> bool:
    """Whether `path` exists, or may exist where we must not look."""
    try:
        os.lstat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def _text(path: str) -> str:
    found = read_bytes(path, CONFIG_BYTES)
    return found[0].decode("utf-8-sig", "replace").replace("\r\n", "\n") if found else ""


def _line(path: str, *, strip: bool = True) -> str | None:
    """The first line of a small file of one line; None where there is no such file. Keeps odd path bytes."""
    found = read_bytes(path, POINTER_BYTES if strip else _LINE_BYTES)
    if found is None or b"\0" in found[0]:
        return None
    line = os.fsdecode(found[0].partition(b"\n")[0])
    return line.strip() if strip else line
