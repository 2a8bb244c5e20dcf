"""What we gave is never learnt again: not from the transcript, not from an answer that quotes, cuts or restates it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from model_house import claude, known, ledger, wait
from recalld.store import turns
from test_events import House, run

__all__ = ["run"]

ROUNDS = 50
KNOWN = [
    "The orders database is PostgreSQL 16.", "We decided to use pnpm for everything here.",
    "Never force-push to main.", "The gateway listens on port 9443.", "Deployments of the shop go through ArgoCD.",
    "支付服务把日志写到 Loki。", "订单表按 userId 分表。", "We prefer composition over inheritance.",
]  # fmt: skip
ASKED = [
    "which database do the orders use?", "how do I install a package here?", "may I force-push to main?",
    "which port does the gateway listen on?", "how do deployments of the shop work?", "支付服务的日志写到哪里？",
    "订单表怎么分表？", "should this class inherit from the other one?",
]  # fmt: skip
RESTATED = [
    "Your orders database runs on PostgreSQL 16.", "You use pnpm for everything in this project.",
    "As noted, you never force-push to main.", "Port 9443 is where the gateway listens.",
    "The shop is deployed through ArgoCD.", "日志由支付服务写到 Loki。", "你们的订单表是按 userId 来分表的。",
    "You prefer composition to inheritance.",
]  # fmt: skip

# A model that takes every sentence for a statement, also the assistant's.
EAGER = """
import model_stub, re
model_stub.STATES = re.compile(r"\\w\\w\\w")
for turn in question["turns"]:
    turn["user"] += "\\n" + turn["assistant"]
say(call=dict(operations=operations(question)))
"""


def answer(number: int, block: str) -> str:
    """What the assistant makes of what it was given."""
    content, restated = KNOWN[number % len(KNOWN)], RESTATED[number % len(KNOWN)]
    forms = [
        f"{restated}",
        f"{block}\n\n{content}",
        f"{block[: len(block) * 2 // 3]}\n",
        f"{block[len(block) // 3 :]}\n{restated}",
        "\n".join(f"> {line}" for line in block.splitlines()) or content,
        f"{content} ({content[: len(content) * 2 // 3]}...)\n...{content[len(content) // 3 :]}",
        f"{json.dumps(block)}\n{content}",
    ]
    return forms[number // len(KNOWN) % len(forms)]


def write(path: Path, number: int, prompt: str, block: str, said: str, at: str, cwd: str) -> None:
    """A turn as Claude Code writes it, with our hook's output and the context it made as attachments."""
    common = {"sessionId": "s1", "cwd": cwd, "isSidechain": False, "entrypoint": "cli", "timestamp": at}
    output = json.dumps({"hookSpecificOutput": {"additionalContext": block}})
    records: list[dict[str, Any]] = [
        {"type": "user", "promptId": f"p{number}", "uuid": f"u{number}", "promptSource": "typed",
         "origin": {"kind": "human"}, "message": {"role": "user", "content": prompt}},
        {"type": "attachment", "uuid": f"h{number}", "attachment": {"type": "hook_success", "stdout": output}},
        {"type": "attachment", "uuid": f"c{number}",
         "attachment": {"type": "hook_additional_context", "content": [block], "hookName": "UserPromptSubmit"}},
        {"type": "assistant", "uuid": f"a{number}",
         "message": {"id": f"m{number}", "stop_reason": "end_turn", "content": [{"type": "text", "text": said}]}},
    ]  # fmt: skip
    with path.open("a") as file:
        file.writelines(json.dumps(common | record, ensure_ascii=False) + "\n" for record in records)


@pytest.mark.parametrize("backend", ["rules", "model"])
def test_fifty_rounds_of_giving_and_capturing_leave_the_memories_as_they_are(
    run: Any, tmp_path: Path, backend: str
) -> None:
    """B78: else what was given is captured from the turn that it was given to."""

    async def work(house: House) -> None:
        path, shop = tmp_path / "s1.jsonl", str(house.home / "shop")
        for content in KNOWN:
            await house.add(content)
        given = 0
        for number in range(ROUNDS):
            await house.store.write(turns.mark_compacted, "s1", house.now())  # so that all is given anew
            asked, prompt_id = ASKED[number % len(ASKED)], f"p{number}"
            block = await house.prompt(asked, prompt_id, transcript_path=str(path))
            given += "recalld-memory" in block
            said = answer(number, block)
            write(path, number, asked, block, said, house.now().isoformat(), shop)
            await house.stop(prompt_id, said)
            await wait(house, 10)
            assert await known(house) == sorted(KNOWN), said
        assert given > ROUNDS * 0.8
        calls = await ledger(house)
        assert set(calls) == ({"ok"} if backend == "model" else set())
        assert len(calls) > ROUNDS / 2 or backend == "rules"
        stored = await house.store.read(lambda db: str(db.execute("select prompt, answer from turns").fetchall()))
        assert "recalld-memory" not in stored

    run(work, **(claude(tmp_path, EAGER) if backend == "model" else {}))
