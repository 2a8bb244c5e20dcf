"""Whose process is at the other end of a loopback connection."""

from __future__ import annotations

import os


def is_stranger(port: int, served: int) -> bool:
    """Whether another user's process holds the connection from local `port` to `served`.

    Linux alone tells, in /proc/net/tcp (proc_net_tcp(5): addresses in hex, the eighth field is the user). Not known is
    not strange: a connection may be relayed. root can read what it wants anyway.
    """
    try:
        with open("/proc/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return False
    ends = (f":{port:04X}", f":{served:04X}")
    owners = {row[7] for row in rows[1:] if row[1].endswith(ends[0]) and row[2].endswith(ends[1])}
    return bool(owners) and not owners & {str(os.getuid()), "0"}
