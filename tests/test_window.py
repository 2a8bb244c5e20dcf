"""The nearer a session's context window is to being full, the less is put into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recalld import window
from recalld.store import turns
from test_events import House, run  # noqa: F401  # the fixture

SONNET, LONG = "claude-sonnet-4-5", "claude-sonnet-4-5[1m]"


@pytest.mark.parametrize(
    ("tokens", "model", "share"),
    [
        (0, "", 1.0),
        (160_000, SONNET, 1.0),
        (180_000, SONNET, 0.5),
        (199_000, SONNET, window.LEAST),
        (180_000, LONG, 1.0),
        (900_000, LONG, 0.5),
        (210_000, SONNET, 1.0),
        (5_000_000, SONNET, window.LEAST),
    ],
)
def test_the_budget_shrinks_from_four_fifths_of_the_window_on(tokens: int, model: str, share: float) -> None:
    """A request larger than the usual window shows that the window is the long one, whatever the model is called."""
    assert window.share(tokens, model) == pytest.approx(share)


def test_a_window_nearly_full_gets_less_until_it_is_compacted(run: Any, tmp_path: Path) -> None:  # noqa: F811
    async def work(house: House) -> None:
        for place in ("Bremen", "Kyoto", "Oslo", "Lima", "Perth"):
            await house.add(f"The warehouse database of {place} runs PostgreSQL behind the pooler of {place}.")
        transcript = tmp_path / "s1.jsonl"
        paths = {"transcript_path": str(transcript)}
        asked = "which warehouse database runs behind the pooler?"
        full = await house.prompt(asked, "p1", "other")

        transcript.write_text("".join(json.dumps(record) + "\n" for record in said(tmp_path / "shop", 195_000)))
        await house.prompt("We decided to use pnpm for everything here.", "p2", **paths)
        await house.stop("p2")
        await house.learn()
        less = await house.prompt(asked, "p3", **paths)
        assert 0 < less.count("\n- ") < full.count("\n- ")

        again = await house.start(source="compact")
        assert json.dumps(again).count("\\n- ") >= full.count("\n- ")
        assert await house.store.read(turns.context, "s1") == (0, "")

    run(work, "[memory]\nsimilarity_threshold = 0.2\n")


def said(cwd: Path, tokens: int) -> list[dict[str, Any]]:
    """A turn as a transcript has it, whose last request was so large."""
    common = {"sessionId": "s1", "cwd": str(cwd), "isSidechain": False, "timestamp": "2026-01-31T08:05:00.000Z"}
    prompt = {"role": "user", "content": "We decided to use pnpm for everything here."}
    answer = {"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": "Noted."}],
              "stop_reason": "end_turn", "usage": {"input_tokens": 5, "cache_read_input_tokens": tokens - 5}}  # fmt: skip
    return [
        common | {"type": "user", "uuid": "u1", "promptId": "p2", "message": prompt},
        common | {"type": "assistant", "uuid": "u2", "message": answer},
    ]
