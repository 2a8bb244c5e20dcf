"""What a client is offered besides tools: resources to attach, and prompts for those that have no hooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from recalld.errors import InputError, NotFoundError
from recalld.mcp.bounds import Desk
from recalld.mcp.frame import NOTE, framed, item
from recalld.model import Status

PINNED, MEMORY = "recalld://pinned", "recalld://memory/"
PINNED_OF = PINNED + "/{project}"
MEMORY_OF = MEMORY + "{id}"
MAX_PINNED = 200
MAX_KNOWN = 40
"""So many memories go into the prompt that tells what is known."""
MAX_TOPIC_CHARS = 4_000


class Text(NamedTuple):
    """A resource's content."""

    kind: str
    text: str


def read(desk: Desk, uri: str) -> Text:
    """The content of a resource. Raises NotFoundError for an unknown one, and what the verbs raise."""
    if uri == PINNED or uri.startswith(PINNED + "/"):
        return Text("text/plain", _pinned(desk, unquote(uri[len(PINNED) + 1 :])))
    if uri.startswith(MEMORY):
        return Text("application/json", _memory(desk, unquote(uri[len(MEMORY) :])))
    raise NotFoundError(f"there is no resource {uri[:200]!r}")


def _pinned(desk: Desk, project: str) -> str:
    rows = desk.read("list", limit=MAX_PINNED, **desk.place(project))
    items = [item(row) for row in rows if row["pinned"]]
    return framed(items, "" if items else "Nothing is pinned.")


def _memory(desk: Desk, reference: str) -> str:
    memory = desk.visible(reference)
    if memory["status"] == Status.DELETED:
        raise NotFoundError(f"{memory['id']} was deleted and its text is gone for good")
    return json.dumps({"note": NOTE, "memory": msgspec.to_builtins(item(memory))}, ensure_ascii=False, indent=2)


class Prompt(NamedTuple):
    """A prompt template with at most one argument."""

    name: str
    title: str
    description: str
    argument: str
    about: str
    required: bool
    write: Callable[[Desk, str], str]


def _recall(desk: Desk, topic: str) -> str:
    if topic:
        rows = [found["memory"] for found in desk.read("search", query=topic, limit=MAX_KNOWN, **desk.place(None))]
    else:
        rows = desk.read("list", limit=MAX_KNOWN, **desk.place(None))
    if not rows:
        return "recalld remembers nothing about this yet. Remember with mem_write what is worth keeping from now on."
    about = "what you asked about" if topic else "this project and its user"
    lead = f"This is what recalld remembers of {about}. Take it into account; look for more with mem_search."
    return framed([item(row) for row in rows], lead)


def _remember(desk: Desk, what: str) -> str:
    return (
        "Remember this with mem_write, as one self-contained sentence for each fact, in the words it was said in,"
        " and tell me what was stored:\n\n" + what
    )


PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt("recall", "Recall what is known", "Begin with what is remembered of this project and its user.",
               "topic", "only what is about this", False, _recall),
        Prompt("remember", "Remember something", "Have something stored in the long-term memory.",
               "what", "what is to be remembered", True, _remember),
    )
}  # fmt: skip


def prompt(desk: Desk, name: str, arguments: Mapping[str, str]) -> str:
    """The text of a prompt. Raises NotFoundError, InputError."""
    chosen = PROMPTS.get(name)
    if chosen is None:
        raise NotFoundError(f"there is no prompt {name[:100]!r}; there are {', '.join(PROMPTS)}")
    given = (arguments.get(chosen.argument) or "").strip()
    if chosen.required and not given:
        raise InputError(f"{name}: give {chosen.argument}, {chosen.about}")
    if len(given) > MAX_TOPIC_CHARS:
        raise InputError(f"{name}: {chosen.argument} has {len(given)} characters; at most {MAX_TOPIC_CHARS} are taken")
    return chosen.write(desk, given)
