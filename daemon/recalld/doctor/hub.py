"""The check of the way to the team's hub."""

from __future__ import annotations

import stat
from typing import Any

from recalld import calling, config
from recalld.doctor.check import Home


def check_hub(home: Home) -> tuple[str, str]:
    """Whether this home and the hub are in step, or will be as soon as it answers, and its password is the owner's."""
    path = home.paths.config
    dsn = config.load(path).hub.dsn
    if not dsn:
        return "this home belongs to none; `recalld hub join` changes that", ""
    if config.masked(dsn) != dsn and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        return f"{path} holds the hub's password and can be read by others (mode {mode:o})", f"chmod 600 {path}"
    found: dict[str, Any] | None = home.status and home.status.get("hub")
    if not found:
        return "not looked at: no daemon answers that knows of it", ""
    last = f"; last in step at {found['last_sync_at']}" if found["last_sync_at"] else ""
    if found["state"] == "failed":
        return f"{found['error']}{last}", "mend what the line says; `recalld hub sync` tries at once"
    if found["state"] == "away":
        return f"away, and tried again by itself: {found['error']}{last}", ""
    return f"{found['state']}{last}{_left_out(home)}", ""


def _left_out(home: Home) -> str:
    """That memories do not come in or go out; each has its reason, which need not be a fault."""
    state = calling.call(home.paths.socket, "hub-state", {}, 5.0)
    if not (state["refused"] or state["skipped"]):
        return ""
    return "; some memories are refused by the hub, or cannot be taken in here: `recalld hub status` names them"
