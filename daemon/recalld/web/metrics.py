"""`GET /metrics`: the daemon's status for Prometheus, in its text format 0.0.4.

Numbers only: no project's name, no path, no text. Seconds and bytes, as Prometheus wants its units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from starlette.responses import Response

from recalld.web.door import Call

MEDIA = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[str, Mapping[str, str], float]
"""What comes behind the family's name, labels, value."""


async def metrics(call: Call) -> Response:
    """The daemon's status, to be collected."""
    return Response(text(await call.ask("status")), media_type=MEDIA)


def text(status: Mapping[str, Any]) -> str:
    """All families, each with its help and type."""
    lines = []
    for name, kind, told, samples in _families(status):
        lines += [f"# HELP {name} {told}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{suffix}{_labels(labels)} {value:.10g}" for suffix, labels, value in samples]
    return "\n".join(lines) + "\n"


def _families(status: Mapping[str, Any]) -> Iterator[tuple[str, str, str, list[Sample]]]:
    def one(value: float) -> list[Sample]:
        return [("", {}, float(value))]

    jobs, spend, hooks = status["jobs"], status["spend"], status["hooks"]
    yield "recalld_build_info", "gauge", "The daemon's version", [("", {"version": str(status["version"])}, 1)]
    yield "recalld_healthy", "gauge", "1 while the daemon can use its database", one(status["healthy"])
    yield "recalld_paused", "gauge", "1 while nothing is given or learnt", one(status["paused"])
    yield "recalld_uptime_seconds", "gauge", "Since the daemon started", one(status["uptime_s"])
    yield "recalld_resident_memory_bytes", "gauge", "Memory of the daemon", one((status["rss_mib"] or 0) * 2**20)
    yield "recalld_memories", "gauge", "Memories in force", one(status["memories"])
    yield "recalld_pending_memories", "gauge", "Memories that wait for a yes or no", one(status["pending"])
    yield "recalld_projects", "gauge", "Known projects", one(status["projects"])
    yield "recalld_jobs", "gauge", "Extractions by state", [("", {"state": name}, jobs[name]) for name in sorted(jobs)]
    age = one(status["queue_age_s"])
    yield "recalld_queue_oldest_seconds", "gauge", "How long the oldest due extraction has been waiting", age
    yield "recalld_spool_files", "gauge", "What hooks have left to be taken in", one(status["spool"])
    yield "recalld_model_calls_today", "gauge", "Calls of a model since midnight", one(spend["calls"])
    yield "recalld_model_tokens_today", "gauge", "Tokens of these calls", one(spend["tokens"])
    yield "recalld_model_cost_today_dollars", "gauge", "What these calls cost", one(spend["usd"])
    samples: list[Sample] = []
    for event, taken in hooks.items():
        for quantile in ("0.5", "0.95", "0.99"):
            ms = taken[f"p{round(float(quantile) * 100)}_ms"]
            samples.append(("", {"event": event, "quantile": quantile}, ms / 1000))
        samples.append(("_sum", {"event": event}, taken["sum_ms"] / 1000))
        samples.append(("_count", {"event": event}, taken["count"]))
    yield "recalld_hook_answer_seconds", "summary", "How long hooks waited for the daemon's answer", samples


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    quoted = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return "{" + ",".join(quoted) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
