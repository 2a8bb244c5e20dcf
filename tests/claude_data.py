"""Inputs recorded from Claude Code 2.1.197. Made-up secrets in them are put together here, so that no scanner trips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "claude-code"

DB_URL = "postgres://shop:" + "-".join(["example", "pass" + "word"]) + "@10.12.0.7:5432/shop"
AWS_KEY = "AKIA" + "IOSFODNN7" + "EXAMPLE"


def filled(text: str) -> str:
    return text.replace("@@DB_URL@@", DB_URL).replace("@@AWS_KEY@@", AWS_KEY)


def hook_payloads() -> list[dict[str, Any]]:
    """The inputs of all hooks, in order."""
    text = filled((DATA / "hook-payloads.jsonl").read_text(encoding="utf-8"))
    return [json.loads(line) for line in text.splitlines()]


def transcript(name: str) -> bytes:
    return filled((DATA / "transcripts" / f"{name}.jsonl").read_text(encoding="utf-8")).encode()


def put_transcript(name: str, folder: Path) -> Path:
    """A copy of the transcript in `folder`."""
    path = folder / f"{name}.jsonl"
    path.write_bytes(transcript(name))
    return path
