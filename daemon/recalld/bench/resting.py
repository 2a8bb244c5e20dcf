"""What a daemon costs that nobody asks anything: memory and processor time; and how soon it serves."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import msgspec

from recalld.bench import texts
from recalld.bench.scratch import Home, Running, daemon

REST_S = 3.0
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Resting(msgspec.Struct, frozen=True):
    """rss_before_mib, rss_mib: memory when it began to listen, the model not loaded yet, and with it (None: no /proc).

    cpu_share: of one core, at rest. serves_s, model_s: from its start to the answer of a first search, and to vectors.
    """

    serves_s: float
    model_s: float
    rss_before_mib: float | None
    rss_mib: float | None
    cpu_share: float | None


def measure(home: Home, rest_s: float = REST_S) -> Resting:
    """Start a daemon and watch it do nothing."""
    with daemon(home) as running:
        running.until_listening()
        before = rss_mib(running)
        running.client.call("search", query=texts.question(0), cwd=str(home.here))
        serves_s = time.perf_counter() - running.begun
        running.until_model()
        model_s = time.perf_counter() - running.begun
        time.sleep(rest_s)  # what follows a start is over then
        used = cpu_s(running)
        time.sleep(rest_s)
        share = None if used is None else ((cpu_s(running) or used) - used) / rest_s
        return Resting(
            serves_s=round(serves_s, 3), model_s=round(model_s, 3), rss_before_mib=before, rss_mib=rss_mib(running),
            cpu_share=None if share is None else round(share, 4),
        )  # fmt: skip


def rss_mib(running: Running) -> float | None:
    """The resident memory of the daemon, in MiB."""
    if (fields := _proc(running, "statm")) is None:
        return None
    return round(int(fields[1]) * _PAGE / 2**20, 1)


def cpu_s(running: Running) -> float | None:
    """The processor time it has used so far."""
    if (fields := _proc(running, "stat")) is None:
        return None
    # utime and stime, fields 14 and 15 of proc(5); the name before them has no blank.
    return (int(fields[13]) + int(fields[14])) * _TICK_S


def _proc(running: Running, name: str) -> list[str] | None:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{running.process.pid}/{name}").read_text(encoding="ascii").split()
    return None
