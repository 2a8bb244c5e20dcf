"""What the service manager and the kernel tell a daemon, and what it tells them."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import logging
import os
import resource
import socket
import sys
from collections.abc import MutableMapping

log = logging.getLogger(__name__)

_FIRST_DESCRIPTOR = 3
"""sd_listen_fds(3): passed descriptors begin here."""

LAUNCHD_SOCKET = b"Listeners"
"""The name of the socket in the launchd plist."""


def inherited_socket(environ: MutableMapping[str, str]) -> socket.socket | None:
    """The listening socket that systemd or launchd made for us, or None. The environment forgets about it."""
    pid, number = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    environ.pop("LISTEN_FDNAMES", None)
    if pid == str(os.getpid()) and number.isdigit() and int(number) >= 1:
        os.set_inheritable(_FIRST_DESCRIPTOR, False)
        return socket.socket(fileno=_FIRST_DESCRIPTOR)
    return _from_launchd() if sys.platform == "darwin" and "XPC_SERVICE_NAME" in environ else None


def notify(state: str) -> None:
    """Tell systemd, as sd_notify(3) does: a datagram to NOTIFY_SOCKET, nothing where there is none."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as peer:
        peer.connect("\0" + address[1:] if address.startswith("@") else address)
        peer.sendall(state.encode())


def watchdog_s() -> float:
    """How often, in seconds, systemd wants to hear from us (WATCHDOG_USEC); 0 for never."""
    value = os.environ.get("WATCHDOG_USEC", "")
    return int(value) / 1_000_000 if value.isdigit() else 0.0


def rss_mib() -> float:
    """The resident memory of this process, in MiB."""
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return round(int(file.read().split()[1]) * resource.getpagesize() / 2**20, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 1)


def turn_away(listening: socket.socket) -> None:
    """Close the connections that wait at `listening`: its manager would start a daemon anew for as long as any does."""
    listening.setblocking(False)
    with contextlib.suppress(OSError):
        while True:
            listening.accept()[0].close()


def _from_launchd() -> socket.socket | None:
    """The socket of the property list, by launch_activate_socket(3); None where launchd has none for us.

    It may be told: this process is none of launchd's (ESRCH, as in a terminal), or not with that socket (ENOENT), or
    has been given it before (EALREADY). Then the daemon opens one of its own.
    """
    library = ctypes.CDLL(None)
    activate = library.launch_activate_socket
    activate.restype = ctypes.c_int
    activate.argtypes = (
        ctypes.c_char_p, ctypes.POINTER(ctypes.POINTER(ctypes.c_int)), ctypes.POINTER(ctypes.c_size_t)
    )  # fmt: skip
    library.free.argtypes, library.free.restype = (ctypes.c_void_p,), None
    array, count = ctypes.POINTER(ctypes.c_int)(), ctypes.c_size_t()
    if code := activate(LAUNCHD_SOCKET, ctypes.byref(array), ctypes.byref(count)):
        level = logging.DEBUG if code == errno.ESRCH else logging.WARNING
        log.log(level, "launchd hands no socket over: %s", os.strerror(code))
        return None
    descriptors = [array[number] for number in range(count.value)]
    library.free(array)
    for other in descriptors[1:]:
        os.close(other)
    if not descriptors:
        return None
    os.set_inheritable(descriptors[0], False)
    return socket.socket(fileno=descriptors[0])
