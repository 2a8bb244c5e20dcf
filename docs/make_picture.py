"""Draw docs/terminal.svg from a real run on a scratch home: `python docs/make_picture.py`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
RECALLD = Path(sys.executable).with_name("recalld")
HOOK = HERE.parent / "hooks" / "hook.py"
WIDTH = 104


def main() -> None:
    """Work in one session, begin the next, and show what it was given."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "work"
        shop = home / "shop"
        (shop / ".git").mkdir(parents=True)
        (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        environ = {
            **os.environ, "HOME": scratch, "RECALLD_HOME": f"{scratch}/r", "CLAUDE_CONFIG_DIR": f"{scratch}/c",
            "COLUMNS": str(WIDTH - 4), "FORCE_COLOR": "1", "TERM": "xterm-256color",
        }  # fmt: skip
        page = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115

        def run(*words: str) -> str:
            done = subprocess.run([RECALLD, *words], cwd=shop, env=environ, capture_output=True, text=True, check=True)
            return done.stdout

        def show(command: str) -> None:
            page.print(Text(f"~/work/shop $ {command}", style="bold"))
            page.print(Text.from_ansi(run(*command.split()[1:])))

        def hook(event: str, **fields: str) -> str:
            payload = {"session_id": "8c21f0", "cwd": str(shop), "transcript_path": "", **fields}
            done = subprocess.run(
                [sys.executable, "-I", "-S", HOOK, event, f"{scratch}/r/recalld.sock"],
                input=json.dumps(payload).encode(), env=environ, capture_output=True, check=True,
            )  # fmt: skip
            return done.stdout.decode()

        run("start")
        said = (
            "We decided to use PostgreSQL 16 for the orders database, with Flyway for migrations. Set it up, please.",
            "决定：订单导出统一用 CSV 格式，不再用 Excel。",
            "I always want commit subjects in the imperative mood.",
        )
        page.print(Text("Monday, in Claude Code", style="bold green"))
        for number, prompt in enumerate(said):
            page.print(Text(f"> {prompt}"))
            hook("prompt", hook_event_name="UserPromptSubmit", prompt_id=f"p{number}", prompt=prompt)
            hook("stop", hook_event_name="Stop", prompt_id=f"p{number}", last_assistant_message="Done.")
        while json.loads(run("status", "--json"))["jobs"]["done"] < len(said):
            time.sleep(0.2)
        page.print()
        page.print(Text("Tuesday, a new session: what Claude is given at its start", style="bold green"))
        fields = {"hook_event_name": "SessionStart", "session_id": "a7d93e", "source": "startup"}
        context = json.loads(hook("session-start", **fields))["hookSpecificOutput"]["additionalContext"]
        page.print(Text(context, style="cyan"))
        page.print()
        page.print(Text("Wednesday, with a prompt", style="bold green"))
        question = "which database do the orders use?"
        page.print(Text(f"> {question}"))
        fields = {"hook_event_name": "UserPromptSubmit", "session_id": "c04b77", "prompt_id": "q1", "prompt": question}
        context = json.loads(hook("prompt", **fields))["hookSpecificOutput"]["additionalContext"]
        page.print(Text(context, style="cyan"))
        page.print()
        show("recalld why")
        run("stop")
        # A font of the reader's machine: a picture must not fetch one from elsewhere.
        svg = re.sub(r"@font-face \{.*?\}\n", "", page.export_svg(title="recalld"), flags=re.DOTALL)
        svg = re.sub(r"<!--.*?-->\n?", "", svg).replace("Fira Code", "ui-monospace, Menlo, DejaVu Sans Mono")
        (HERE / "terminal.svg").write_text(svg.replace(scratch, "~"), encoding="utf-8")


if __name__ == "__main__":
    main()
