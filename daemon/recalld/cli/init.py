"""The command `init`: a short talk that takes a project's background, each sentence shown before it is stored."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.command import Command, here, yes
from recalld.errors import InputError
from recalld.paths import find


class Question(NamedTuple):
    """frame, frame_cjk: what makes a sentence of an answer in a few words (`{name}` is the project)."""

    asked: str
    example: str
    type: str
    scope: str
    frame: str
    frame_cjk: str


QUESTIONS = (
    Question("What is this project?", "a web shop for tea, used by about 2,000 customers", "fact", "project",
             "{name} is {said}", "{name} 是{said}"),
    Question("What is it built with?", "Python 3.12, FastAPI, PostgreSQL 16; deployed on Fly.io", "fact", "project",
             "{name} is built with {said}", "{name} 使用 {said}"),
    Question("Which conventions hold here?", "Commits follow Conventional Commits. Tests use pytest, without mocks.",
             "decision", "project", "A convention of {name}: {said}", "{name} 的约定：{said}"),
    Question("What has to be watched out for?", "Never run migrations against production from a laptop.", "lesson",
             "project", "In {name}, watch out for {said}", "{name} 要注意：{said}"),
    Question("How do you want answers, in every project?", "Answer briefly. Show the diff before the explanation.",
             "preference", "user", "Preferred answers: {said}", "回答要求：{said}"),
)  # fmt: skip

_ENDS = re.compile(r"(?<=[.!?])\s+(?=[^\s\d])|(?<=[。！？；])|\n+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_YES = frozenset({"", "y", "yes", "j", "ja", "是", "好"})
_NO = frozenset({"n", "no", "nein", "否", "不"})


def init(arguments: argparse.Namespace) -> int:
    """Ask, show, store."""
    name = _project()
    stage = sys.stderr if arguments.json else sys.stdout
    _say(stage, f"{name}: a few questions; Enter skips one. Nothing is stored before you have seen it.")
    stored = list(_talk(name, stage, sure=arguments.yes))
    if arguments.json:
        output.print_json(stored)
    else:
        _say(stage, f"\n{output.plural(len(stored), 'memory', 'memories')} stored; `recalld list` shows them all")
    return 0


def _project() -> str:
    """What the project of this folder is called. Raises InputError where there is none."""
    from recalld import config, project

    place = project.locate(Path(here() or "/"), config.load(find().config).projects, Path.home())
    if isinstance(place, project.Excluded):
        raise InputError(f"this folder is excluded from recalld ({place.rule})")
    if place is None:
        raise InputError("this folder is no project; go to one first")
    return place.name


def _talk(name: str, stage: TextIO, *, sure: bool) -> Iterator[dict[str, Any]]:
    """The memories that come of it, as each is stored. Ends where the answers do."""
    for question in QUESTIONS:
        _say(stage, f"\n{question.asked}  (as: {question.example})")
        answer = _heard(stage, "> ")
        if answer is None:
            return
        for sentence in sentences(question, name, answer):
            agreed = sentence if sure else _agreed(stage, sentence)
            if agreed is None:
                return
            if agreed:
                try:
                    row = ask("add", writes=True, text=agreed, cwd=here(), type=question.type, scope=question.scope)
                except InputError as error:  # nothing of it may be stored; the talk goes on
                    _say(stage, f"  not stored: {error}")
                    continue
                _say(stage, f"  stored: {output.safe(row['content'])}")
                yield row


def sentences(question: Question, name: str, answer: str) -> list[str]:
    """An answer as sentences that hold by themselves: a few words are put into the question's frame."""
    parts = [part.strip(" \t-*•") for part in _ENDS.split(answer)]
    found = [part for part in parts if part]
    if len(found) == 1 and not re.search(r"[.!?。！？]$", found[0]):
        cjk = bool(_CJK.search(found[0]))
        framed = (question.frame_cjk if cjk else question.frame).format(name=name, said=found[0])
        return [framed + ("。" if cjk else ".")]
    return found


def _agreed(stage: TextIO, sentence: str) -> str | None:
    """The sentence, other words for it, "" for none; None where nobody answers any more."""
    said = _heard(stage, f"  {output.safe(sentence)}\n  keep it? [Y/n, or better words] ")
    if said is None:
        return None
    if said.lower() in _YES:
        return sentence
    return "" if said.lower() in _NO else said


def _heard(stage: TextIO, prompt: str) -> str | None:
    print(prompt, end="", file=stage, flush=True)
    line = sys.stdin.readline() if sys.stdin else ""
    if not (sys.stdin and os.isatty(sys.stdin.fileno())):
        _say(stage, "")
    return line.strip() if line else None


def _say(stage: TextIO, line: str) -> None:
    print(line, file=stage, flush=True)


COMMANDS = (
    Command("init", "", "talk a new project in: what it is, its stack, its conventions", yes, init,
            ("recalld init", "recalld init --yes < answers.txt")),
)  # fmt: skip
