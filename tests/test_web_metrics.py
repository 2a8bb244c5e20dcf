"""`GET /metrics`, and the times that it and `recalld status` tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from conftest import Daemon, Home
from recalld.pace import LAST, Pace
from recalld.web import metrics
from test_daemon import hook, said, take_turn
from web_house import Web, web_of

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")
SAMPLE = re.compile(r"(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)")
LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\[\\"n])*)"')


class Family(NamedTuple):
    kind: str
    samples: dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> dict[str, Family]:
    """The families of a text in format 0.0.4; fails at any line that is no part of one."""
    families: dict[str, Family] = {}
    told = name = ""
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            told, _, words = line.removeprefix("# HELP ").partition(" ")
            assert words
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert (told, name in families) == (name, False)
            assert kind in ("counter", "gauge", "summary")
            families[name] = Family(kind, {})
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            suffix = found["name"].removeprefix(name)
            assert suffix in (("", "_sum", "_count") if families[name].kind == "summary" else ("",)), line
            labels = tuple(LABEL.findall(found["labels"] or ""))
            assert ",".join(f'{key}="{value}"' for key, value in labels) == (found["labels"] or "")
            assert (suffix, labels) not in families[name].samples
            families[name].samples[suffix, labels] = float(found["value"])
    return families


@pytest.fixture
def web(tmp_path: Any) -> Iterator[Web]:
    with web_of(tmp_path) as made:
        yield made


def test_prometheus_can_read_it(web: Web) -> None:
    """Names by its conventions, numbers that are those of `status`, and no word of what is remembered."""
    web.add("Bluebird listens on port 8080.", project=str(web.home.project))
    take_turn(web.home, 1, "Which port has Bluebird?")
    answer = web.ask("GET", "/metrics")
    assert (answer.status, answer.headers["Content-Type"]) == (200, metrics.MEDIA)
    found = parsed(answer.body.decode())
    for name, family in found.items():
        assert NAME.fullmatch(name), name
        assert name.startswith("recalld_")
        assert not name.endswith("_total") or family.kind == "counter"
        assert not re.search(r"_(ms|mib|kb|usd)$", name), name
    assert found["recalld_memories"].samples["", ()] >= 1
    assert found["recalld_healthy"].samples["", ()] == 1
    assert {dict(labels)["state"] for _, labels in found["recalld_jobs"].samples} == {
        "ready",
        "running",
        "done",
        "dead",
    }
    hooks = found["recalld_hook_answer_seconds"].samples
    assert hooks["_count", (("event", "prompt"),)] == 1
    assert 0 < hooks["", (("event", "prompt"), ("quantile", "0.5"))] <= hooks["_sum", (("event", "prompt"),)] * 1.001
    text = answer.body.decode().casefold()
    assert not any(word in text for word in ("bluebird", "shop", str(web.home.root).casefold()))


def test_it_needs_the_token(web: Web) -> None:
    """As everything with data does."""
    assert web.ask("GET", "/metrics", token=None).status == 401


def test_any_version_makes_a_sound_label() -> None:
    """Quotes, backslashes and line ends are escaped."""
    status = {
        "version": 'a"b\\c\nd', "healthy": True, "paused": False, "uptime_s": 1.5, "rss_mib": 60.5, "memories": 1,
        "pending": 0, "projects": 1, "queue_age_s": 0.0, "spool": 0, "hooks": {},
        "jobs": {"ready": 0}, "spend": {"calls": 0, "tokens": 0, "usd": 0.25},
    }  # fmt: skip
    found = parsed(metrics.text(status))
    assert found["recalld_build_info"].samples == {("", (("version", 'a\\"b\\\\c\\nd'),)): 1}
    assert found["recalld_resident_memory_bytes"].samples["", ()] == 60.5 * 2**20
    assert found["recalld_model_cost_today_dollars"].samples["", ()] == 0.25


def test_status_tells_how_long_each_hook_waited(home: Home, daemon: Daemon) -> None:
    """By event, in order: half, 95 and 99 of a hundred; on the screen too."""
    take_turn(home, 1, "thanks")
    hook(home, "session-start", said(home, "session-start", "", "s2", source="startup"))
    found = home.json("status")["hooks"]
    assert {event: taken["count"] for event, taken in found.items()} == {"prompt": 1, "stop": 1, "session-start": 1}
    for taken in found.values():
        assert 0 < taken["p50_ms"] <= taken["p95_ms"] <= taken["p99_ms"]
    assert "prompt " in home.run("status").stdout
    assert "p99" in home.run("status").stdout


def test_percentiles_are_of_late_and_counts_of_always() -> None:
    """By nearest rank; what was slow long ago is not held against it; an event nobody knows is not kept."""
    pace = Pace(("prompt", "stop"))
    for ms in (*[9000.0] * 10, *map(float, range(1, LAST + 1))):
        pace.add("prompt", ms)
    assert pace.report() == {
        "prompt": {
            "count": LAST + 10, "sum_ms": 90_000.0 + LAST * (LAST + 1) / 2, "p50_ms": 500.0, "p95_ms": 950.0, "p99_ms": 990.0,
        }
    }  # fmt: skip
    with pytest.raises(KeyError), pace.measured("stop"):
        raise KeyError
    with pace.measured("nonsense"):
        pass
    assert pace.report().keys() == {"prompt", "stop"}
