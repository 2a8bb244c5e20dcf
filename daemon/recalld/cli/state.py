"""`recalld status`: the daemon's own words, or what can be told without it."""

from __future__ import annotations

import os
from typing import Any

from recalld import __version__, calling
from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.command import Told, here
from recalld.errors import RecalldError, UnavailableError
from recalld.paths import Paths, find, spooled

LATE_S = 60.0
"""From then on it is told how long the queue's first has been waiting."""

NOTHING = {
    "pid": None,
    "version": __version__,
    "uptime_s": None,
    "paused": False,
    "backend": None,
    "backend_reason": None,
    "model": {"id": None, "state": "not loaded"},
    "watch": "off",
    "http": {"state": "off", "url": None, "error": None},
    "hub": {"state": "off", "last_sync_at": None, "outbox": None, "error": None},
    "memories": 0,
    "pending": 0,
    "projects": 0,
    "jobs": {"ready": 0, "running": 0, "done": 0, "dead": 0},
    "queue_age_s": 0.0,
    "hooks": {},
    "spool": 0,
    "runaway": None,
    "trouble": None,
    "healthy": False,
    "rescued": None,
    "spend": {"calls": 0, "tokens": 0, "usd": 0.0},
    "last_error": None,
}


def status() -> dict[str, Any]:
    """The daemon's status, and in `state` whether it is `running`, `stopped`, or `hung` (there, but silent)."""
    paths = find()
    try:
        # A daemon of another version may not say all of it.
        said = calling.call(paths.socket, "status", {}, calling.PATIENCE_S)
        return {**NOTHING, "state": "running", "healthy": True, **said}
    except UnavailableError:
        return _without_daemon(paths)


def _without_daemon(paths: Paths) -> dict[str, Any]:
    from recalld import direct
    from recalld.install.running import holder

    pid = holder(paths)
    facts: dict[str, Any] = {"state": "hung" if pid else "stopped", **NOTHING, "pid": pid, "home": str(paths.data)}
    facts["spool"] = len(spooled(paths.spool))
    try:
        facts |= _backend(paths)
        if paths.database.exists():  # a look must not create it
            facts |= direct.call(paths, "status", {})
    except RecalldError as error:
        facts["last_error"] = str(error)
    if pid:
        facts["last_error"] = f"the daemon (process {pid}) does not answer; `recalld restart` ends it"
    return facts


def _backend(paths: Paths) -> dict[str, Any]:
    from recalld import config, extract  # late: the daemon knows by itself

    settings = config.load(paths.config)
    choice = extract.choose(settings, os.environ)
    model = {"id": settings.embed.model, "state": "not loaded"}
    return {"backend": choice.backend, "backend_reason": choice.reason, "model": model}


def line() -> Told:
    """A few words on the project of this folder, and how Claude Code gets them without starting all of this."""
    import shlex

    from recalld.install import assets

    words = [str(assets.interpreter()), "-I", "-S", str(assets.line_script()), str(find().socket)]
    setting = {"type": "command", "command": shlex.join(words)}
    return Told({"line": ask("line", cwd=here()), "statusLine": setting}, lambda data: print(data["line"]))


def show(facts: dict[str, Any]) -> None:
    """Print `facts` on one screen."""
    table = output.grid(10, None)
    for name, (value, style) in _lines(facts).items():
        table.add_row(output.text(name, "dim"), output.text(value, style))
    output.show(output.text(f"recalld {facts['version']}", "bold"), table)


def _lines(facts: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What to say about each part, and in which colour."""
    jobs, spend, error = facts["jobs"], facts["spend"], facts["last_error"]
    waiting = f"{facts['pending']:,} waiting for you, " if facts["pending"] else ""
    late = f" (the first for {output.duration(facts['queue_age_s'])})" if facts["queue_age_s"] >= LATE_S else ""
    queue = f"{jobs['ready']:,} waiting{late}, {jobs['running']:,} at work, {jobs['done']:,} done"
    gave_up = f", {jobs['dead']:,} gave up (`recalld maintain --retry`)" if jobs["dead"] else ""
    spool = f"{output.plural(facts['spool'], 'turn')} to take in" if facts["spool"] else "empty"
    runaway = {"runaway": (facts["runaway"], "red")} if facts["runaway"] else {}
    return {
        "daemon": _daemon(facts),
        "service": (_service(), ""),
        "memories": (
            f"{facts['memories']:,} active, {waiting}{output.plural(facts['projects'], 'project')}",
            "",
        ),
        "queue": (queue + gave_up, "red" if jobs["dead"] else ""),
        **({"hooks": (_hooks(facts["hooks"]), "")} if facts["hooks"] else {}),
        "extraction": (str(facts["backend_reason"] or facts["backend"] or "unknown"), ""),
        "today": (_spend(spend), ""),
        "model": (f"{facts['model']['id']}, {facts['model']['state']}", ""),
        "spool": (spool, "yellow" if facts["spool"] else ""),
        **({"viewer": _viewer(facts["http"])} if facts["http"]["state"] != "off" else {}),
        **({"hub": hub(facts["hub"])} if facts["hub"]["state"] != "off" else {}),
        **runaway,
        **({"trouble": (facts["trouble"], "red")} if facts["trouble"] else {}),
        **({"rescued": (facts["rescued"], "red")} if facts["rescued"] else {}),
        "last error": (error or "none", "red" if error else "dim"),
        "files": (facts["home"], "dim"),
    }


def _hooks(taken: dict[str, Any]) -> str:
    """How long hooks waited for an answer, by event."""
    return "; ".join(
        f"{event} {ms['p50_ms']:.1f} ms (p95 {ms['p95_ms']:.1f}, p99 {ms['p99_ms']:.1f})" for event, ms in taken.items()
    )


def _viewer(door: dict[str, Any]) -> tuple[str, str]:
    """Where the HTTP door is, or why it is not."""
    if door["state"] == "failed":
        return f"not served: {door['error']}", "red"
    return (door["url"], "") if door["url"] else ("starting", "yellow")


def hub(report: dict[str, Any]) -> tuple[str, str]:
    """Whether this home and the hub are equal, and since when not."""
    last = output.day(report["last_sync_at"], output.utc_now()) if report["last_sync_at"] else ""
    since = f"; last in step {last}" if last else "; never in step yet"
    if report["error"]:
        return f"{report['error']}{since}", "red" if report["state"] == "failed" else "yellow"
    waiting = f", {report['outbox']:,} to send" if report["outbox"] else ""
    return (f"in step since {last}{waiting}", "") if report["state"] == "synced" else (f"{report['state']}{since}", "")


def _daemon(facts: dict[str, Any]) -> tuple[str, str]:
    if facts["state"] == "hung":
        return f"does not answer (process {facts['pid']})", "red"
    if facts["state"] == "stopped":
        paused = ", and paused" if facts["paused"] else ""
        return f"not running{paused}; `recalld start` starts it", "yellow"
    memory = f", {facts['rss_mib']:.0f} MiB" if "rss_mib" in facts else ""
    if not facts["healthy"]:
        return f"runs (process {facts['pid']}), but does not work; it ends itself soon, or `recalld restart`", "red"
    line = f"running for {output.duration(facts['uptime_s'])} (process {facts['pid']}{memory})"
    if facts["paused"]:
        return f"{line}, PAUSED: nothing is given or learnt until `recalld resume`", "yellow"
    return line, "green"


def _service() -> str:
    from recalld.install import service

    kind = service.in_charge(find(), os.environ)
    return f"{kind}, {service.state(kind)}" if kind else "none; hooks start the daemon"


def _spend(spend: dict[str, Any]) -> str:
    """What was spent today, each against its cap where it has one."""
    from recalld import config

    try:
        caps = config.load(find().config).extract
    except RecalldError:
        caps = config.ExtractConfig()
    calls = f" of {caps.max_calls_per_day:,}" if caps.max_calls_per_day else ""
    tokens = f" of {caps.max_tokens_per_day:,}" if caps.max_tokens_per_day else ""
    usd = f" of ${caps.max_usd_per_day:.2f}" if caps.max_usd_per_day else ""
    return f"{spend['calls']:,}{calls} model calls, {spend['tokens']:,}{tokens} tokens, ${spend['usd']:.2f}{usd}"
