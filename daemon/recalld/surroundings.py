"""What lies around the data folder: a repository or a sync program that would carry it off, a file system not fit for it."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from pathlib import Path

_REPOSITORY = (".git", ".hg", ".jj", ".svn")
# What the sync programs call their folders (macOS keeps most of them in ~/Library/CloudStorage), and what they leave there.
_SYNCED = re.compile(
    r"(?:Dropbox|OneDrive|Google ?Drive|My Drive|Mobile Documents|iCloud ?Drive|CloudStorage|Nextcloud|ownCloud|Syncthing|"
    r"pCloud ?Drive|Proton ?Drive|MEGA|Seafile|Resilio Sync|Creative Cloud Files)(?: [-(].{0,60})?",
    re.IGNORECASE,
)
_MARKERS = {
    ".stfolder": "Syncthing", ".stignore": "Syncthing", ".dropbox": "Dropbox", ".dropbox.cache": "Dropbox",
    ".nextcloudsync.log": "Nextcloud", ".owncloudsync.log": "ownCloud", ".tmp.driveupload": "Google Drive",
    ".tmp.drivedownload": "Google Drive", ".seafile-data": "Seafile", ".debris": "MEGA",
}  # fmt: skip
# SQLite's WAL needs memory that all processes share and locks that hold, which these do not promise
# (https://www.sqlite.org/wal.html, "all processes using a database must be on the same host computer").
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|afs|afpfs|9p|drvfs|webdav|davfs|ncpfs|ceph|glusterfs|lustre|gpfs|beegfs|vboxsf|prl_fs|osxfs|"
    r"fuse\.(?:sshfs|rclone|s3fs|glusterfs|davfs2?|vmhgfs-fuse|grpcfuse|ceph|juicefs)|fuse\.\w*drive\w*|macfuse"
)


def carried_off(folder: Path) -> tuple[str, str]:
    """Whether a repository or a sync program holds `folder`: what was found, and what to do (empty: nothing)."""
    for above in _upward(folder):
        for name in _REPOSITORY:
            if (above / name).exists() and not _ignored(folder):
                detail = f"{folder} lies in the repository {above}: memories could be committed and pushed"
                return detail, f"echo '*' > {folder / '.gitignore'}, or move it: set RECALLD_HOME to a folder outside"
        marked = next((program for name, program in _MARKERS.items() if (above / name).exists()), "")
        if marked or _SYNCED.fullmatch(above.name):
            detail = f"{folder} lies in a folder that {marked or above.name} synchronises: a copy made in mid-write is broken"
            return detail, "set RECALLD_HOME to a folder that is not synchronised; carry memories with `recalld export`"
    return f"{folder} lies in no repository and no synchronised folder", ""


def file_system(folder: Path) -> tuple[str, str]:
    """Whether the database may lie on the file system of `folder`: what was found, and what to do (empty: nothing)."""
    kind = file_system_type(folder)
    if on_network(folder):
        detail = (
            f"{folder} is on a network file system ({kind}): the database has a rollback journal there, which is slower, "
            "and two machines at work on it may still damage it"
        )
        return (
            detail,
            "set RECALLD_HOME to a folder on a disk of this machine; `restore-backup` brings the memories there",
        )
    return f"{folder} is on {kind or 'a file system of unknown type'}", ""


def on_network(folder: Path) -> bool:
    """Whether `folder` is on a file system that other machines may use at the same time, or that only looks like a disk."""
    return _NETWORK.fullmatch(file_system_type(folder).lower()) is not None


def file_system_type(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the file system that holds `folder`, as the system calls it (`ext4`, `nfs4`, `apfs`); empty if unknown."""
    there = next(_upward(folder), Path("/"))
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return _by_statfs(there)
    found, length = "", -1
    for line in lines:
        fields, _, kind = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields.split(" ")[4])
        if there.is_relative_to(point) and len(point) >= length:  # of two at one place the later is on top
            found, length = kind.split(" ")[0], len(point)
    return found


def _by_statfs(folder: Path) -> str:
    """macOS: `f_fstypename` of struct statfs (<sys/mount.h>, with 64-bit inodes): 16 bytes at 72."""
    buffer = ctypes.create_string_buffer(4096)
    system = ctypes.CDLL(None)
    call = getattr(system, "statfs$INODE64", None) or getattr(system, "statfs", None)
    if os.uname().sysname != "Darwin" or call is None or call(os.fsencode(folder), buffer) != 0:
        return ""
    return buffer.raw[72:88].split(b"\0")[0].decode("ascii", "replace")


def _upward(folder: Path) -> Iterator[Path]:
    """`folder`, resolved, and the folders above it, as far as they exist, innermost first."""
    resolved = folder.resolve()
    return (path for path in (resolved, *resolved.parents) if path.exists())


def _ignored(folder: Path) -> bool:
    """Whether a `.gitignore` in the folder itself keeps all of it out."""
    try:
        return "*" in (folder / ".gitignore").read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return False
