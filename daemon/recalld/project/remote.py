"""Remote URLs of repositories, brought to one spelling."""

from __future__ import annotations

import os
import posixpath
import re
from urllib.parse import unquote

import msgspec

MAX_URL = 2000

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)")
_SCP = re.compile(r"(?:[^@/:\[]+@)?(?P<host>\[[^\]/]+\]|[^/:@\[\]]+):(?P<path>.*)")
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:\[\]]+)(?::[0-9]*)?")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.\-]*::")

# The same service under a second name (ssh through the https port, mostly).
_SAME_HOST = {
    "www.github.com": "github.com",
    "ssh.github.com": "github.com",
    "www.gitlab.com": "gitlab.com",
    "altssh.gitlab.com": "gitlab.com",
    "www.bitbucket.org": "bitbucket.org",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
# These take /Acme/Shop and /acme/shop for one repository; other hosts may not.
_ANY_CASE = {"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com"}


class Remote(msgspec.Struct, frozen=True):
    """identity: `remote:host/path`, the same for every spelling of one repository, without user, password and port.

    name: the repository's own name as written, for people.
    """

    identity: str
    name: str


def parse_remote(url: str, base: str) -> Remote | None:
    """The repository `url` stands for; None where it names none or cannot be told apart from its credentials.

    ssh, https, git and scp-like forms agree. A path (`/srv/x.git`, `file://`, or relative to `base`) becomes
    `remote:file/<absolute path>`, which means something on this machine only. Host aliases of the user's ssh config
    stay what they are.
    """
    url = _HELPER.sub("", url.strip(), count=1)
    if not url or len(url) > MAX_URL or re.search(r"[\x00-\x1f\x7f]", url):
        return None
    if found := _URL.fullmatch(url.split("#")[0].split("?")[0]):
        if found["scheme"].lower() == "file":
            return _local(unquote(found["path"]), base)
        host = _AUTHORITY.fullmatch(found["authority"].rpartition("@")[2])
        return _hosted(host["host"], unquote(found["path"])) if host else None
    if "://" in url:
        return None
    if (found := _SCP.fullmatch(url)) and not url.startswith(("/", ".", "~")):
        return _hosted(re.sub(r"^\[(?:[^@\]]*@)?([^\]:]+)(?::[0-9]+)?\]$", r"\1", found["host"]), found["path"])
    return _local(url, base)


def _hosted(host: str, path: str) -> Remote | None:
    host = host.strip("[]").lower().rstrip(".")
    host = _SAME_HOST.get(host, host)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if host == "dev.azure.com":
        parts = [part for part in parts[parts[:1] == ["v3"] :] if part != "_git"]
    # An `@` inside the path is most likely the end of a password with a slash in it.
    if not host or ".." in parts or "@" in host or any("@" in part[1:] for part in parts):
        return None
    return _named(host, parts)


def _local(path: str, base: str) -> Remote | None:
    full = os.path.realpath(os.path.join(base, os.path.expanduser(path)))
    if posixpath.basename(full) == ".git":
        full = posixpath.dirname(full)
    return _named("file", [part for part in full.split("/") if part])


def _named(host: str, parts: list[str]) -> Remote | None:
    if parts and parts[-1].lower().endswith(".git"):
        parts = [*parts[:-1], parts[-1][: -len(".git")]]
    if not parts or not parts[-1] or re.search(r"[\x00-\x1f\x7f]", "".join(parts)):
        return None
    path = "/".join(parts)
    text = f"remote:{host}/{path.lower() if host in _ANY_CASE else path}"
    return Remote(text.encode("utf-8", "backslashreplace").decode(), parts[-1])
