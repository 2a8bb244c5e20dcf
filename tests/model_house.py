"""A House whose turns are asked about by a model: the SDK against the loopback model, or a `claude` made for the test."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from model_stub import ModelStub
from recalld import config
from test_events import House

KEY = "sk-" + "ant-test-" + "0" * 8
ENVIRON = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(config.__file__).parents[1])}

# The program reads the question that it was given, and has the good answer to it at hand.
CLAUDE = f"""#!{sys.executable} -IS
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from model_stub import operations, question_in
asked = sys.stdin.read()
question = question_in(dict(messages=[dict(content=asked)]))
good = dict(operations=operations(question))
GOOD = json.dumps(good, ensure_ascii=False)
def say(text="", call=None, stop_reason="end_turn", **more):
    usage = dict(input_tokens=len(asked) // 4, output_tokens=len(GOOD) // 4)
    print(json.dumps(dict(type="result", result=text, structured_output=call, stop_reason=stop_reason, usage=usage,
                          **more)))
"""


def sdk(model: ModelStub, *, remote: bool = False, more: str = "") -> dict[str, Any]:
    """House's arguments for the `anthropic` backend.

    remote: by an address that is this machine's but no loopback one, so that calls are paid and leave the machine.
    """
    url = model.url.replace("127.0.0.1", "0.0.0.0") if remote else model.url
    settings = f'backend = "anthropic"\nbase_url = "{url}"\n{more}'
    return {"extract": settings, "environ": ENVIRON | {"ANTHROPIC_API_KEY": KEY}}


def claude(folder: Path, script: str, *, deadline_s: float = 60.0, more: str = "") -> dict[str, Any]:
    """House's arguments for the `claude` backend, logged in; for `script` see `put_claude`."""
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / ".credentials.json").write_text("{}")
    program = put_claude(folder, script)
    environ = {
        "PATH": f"{program.parent}:{ENVIRON['PATH']}", "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
    }  # fmt: skip
    return {"extract": f'backend = "claude"\n{more}', "environ": environ, "deadline_s": deadline_s}


def put_claude(folder: Path, script: str) -> Path:
    """The `claude` there: a program of its own (`#!...`), or what CLAUDE does at its end."""
    program = folder / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(script if script.startswith("#!") else f"{CLAUDE}{script}\n")
    program.chmod(0o755)
    return program


async def say(house: House, prompt: str, prompt_id: str, session: str = "", answer: str = "Done.") -> None:
    """A whole turn, of a session of its own unless one is given."""
    await house.prompt(prompt, prompt_id, session or prompt_id)
    await house.stop(prompt_id, answer, session or prompt_id)


async def wait(house: House, seconds: float = 5) -> None:
    """So much later, the worker looks at the queue."""
    house.ahead += timedelta(seconds=seconds)
    await house.worker.step()


async def queue(house: House) -> dict[str, tuple[str, int]]:
    """Each job by its prompt id: its state, and how often it failed through a fault of its own."""
    rows = await house.store.read(lambda db: db.execute("select key, state, attempts from jobs").fetchall())
    return {key: (state, attempts) for key, state, attempts in rows}


async def ledger(house: House) -> list[str]:
    """The outcomes of all calls, in order."""
    rows = await house.store.read(lambda db: db.execute("select outcome from usage order by rowid").fetchall())
    return [row[0] for row in rows]


async def known(house: House) -> list[str]:
    """All that is stored, in force or not."""
    return sorted(memory.content for memory in await house.call("list", project="all", status="all"))


async def backend(house: House) -> str:
    """What `status` says of the backend."""
    learner = house.worker._learner
    return await learner.reason(await learner.choice())
