"""Finishes a word in a shell: a program of its own that a shell starts at each Tab, so it imports almost nothing.

    python -I -S complete.py SOCKET WORD... < TABLE

The words of the line behind `recalld`, the one at the cursor last; TABLE as `completion.table` makes it. Prints a line
a candidate, `word<TAB>meaning`, or `:files` where a file is wanted. Ids and projects are asked of the daemon; where none
answers, there are none.
"""

from __future__ import annotations

import _socket
import json
import posix
import sys

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from typing import Any

WAIT_S = 0.5
MEANING = 60
"""Characters at most."""


def wanted(table: dict[str, Any], words: list[str]) -> Any:
    """What the last word may be: a list of (word, meaning), or the name of a kind."""
    spec, place, option = table, 0, None
    for word in words[:-1]:
        if option is not None:
            option = None
        elif word in spec["options"]:
            option = spec["options"][word][1]
        elif word.startswith("-"):
            continue
        elif word in spec["actions"] and place == 0:
            spec = spec["actions"][word]
        else:
            place += 1
    if option is not None:
        return option
    if words[-1].startswith("-"):
        return [(flag, meaning) for flag, (meaning, _) in spec["options"].items()]
    if spec["actions"] and place == 0:
        return [(name, action["summary"]) for name, action in spec["actions"].items()]
    places = spec["places"]
    return places[min(place, len(places) - 1)] if places and (place < len(places) or spec["more"]) else []


def asked(path: str, kind: str, begun: str) -> list[tuple[str, str]]:
    """The daemon's words of this kind; none where it does not answer in time."""
    folder, _, name = path.rpartition("/")
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(WAIT_S)
    try:
        cwd = posix.getcwd()
        posix.chdir(folder or "/")  # AF_UNIX takes about 100 bytes
        connection.connect(name)
        request = {"kind": kind, "begun": begun, "cwd": cwd}
        connection.send(b"call complete\n" + json.dumps(request).encode())
        connection.shutdown(_socket.SHUT_WR)
        reply = b""
        while part := connection.recv(1 << 16):
            reply += part
        return [(item["word"], item["meaning"]) for item in json.loads(reply)["ok"]]
    except (OSError, ValueError, KeyError):
        return []


def main() -> None:
    """Print the candidates."""
    path, *words = sys.argv[1:]
    home = posix.environ.get(b"RECALLD_HOME")
    found = wanted(json.load(sys.stdin), words)
    if found == "files":
        print(":files")
        return
    if isinstance(found, str):
        found = asked(home.decode() + "/recalld.sock" if home else path, found, words[-1]) if found else []
    for word, meaning in found:
        if word.startswith(words[-1]):
            plain = "".join(sign if sign.isprintable() else " " for sign in meaning)[:MEANING]
            sys.stdout.buffer.write(f"{word}\t{plain}\n".encode(errors="replace"))


if __name__ == "__main__":
    main()
