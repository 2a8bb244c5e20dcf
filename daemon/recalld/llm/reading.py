"""From a child's reply to operations: only a whole, valid answer counts, and only what the dialogue really says."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from recalld.errors import TransientError
from recalld.llm.prompt import TAG_NAMESPACES
from recalld.llm.protocol import (
    LIMIT_WAIT_S,
    Action,
    BadReplyError,
    Operation,
    Proposal,
    Proposals,
    ProposedType,
    RefusedError,
    Reply,
    TooLongError,
    limited,
)
from recalld.model import Origin, Scope, Turn, Type

HEDGED_AT_MOST = 0.5
"""Below the 0.6 that injection asks for."""

NOT_THE_USERS = "only the user can state a preference"
"""The one reason to drop that is a rule of ours and no mistake of the model's."""

_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL)
_BRACKET = re.compile(r"[{\[]")
_MAX_BRACKETS = 200
"""More brackets than this before an answer are no prose; each may cost a scan of the whole text."""
_ELISION = re.compile(r"\[(?:…|\.\.\.)\]|…|\.\.\.")
_TAG = re.compile(rf"(?:{'|'.join(TAG_NAMESPACES)}):[\w.+#-]{{1,40}}")


def proposals(reply: Reply) -> list[Proposal]:
    """What the model proposes. Anything but one whole, valid answer is an error, never an empty list.

    Raises TooLongError (cut off), RefusedError, TransientError (a limit announced in prose), BadReplyError.
    """
    if reply.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        raise TooLongError(f"the model's answer was cut off ({reply.stop_reason})")
    if reply.stop_reason == "refusal":
        raise RefusedError("the model declined to answer")
    if reply.stop_reason == "pause_turn":
        raise BadReplyError("the model stopped before it answered")
    answer = reply.call if reply.call is not None else _object_in(reply.text)
    if isinstance(answer, dict) and isinstance(answer.get("operations"), str):
        answer = {**answer, "operations": _decoded(answer["operations"])}  # a known slip of small models
    try:
        return msgspec.convert(answer, Proposals, strict=False).operations
    except msgspec.ValidationError as error:
        raise BadReplyError(f"the model's answer does not fit the schema: {error}") from error


def _object_in(text: str) -> dict[str, Any]:
    """The one answer in `text`, which may stand in a fence or between prose, but must be whole and alone."""
    found = [item for item in _objects(text) if isinstance(item.get("operations"), list | str)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadReplyError("the model gave more than one answer")
    if limited(text):
        raise TransientError("the model's server reports a limit instead of an answer", LIMIT_WAIT_S)
    raise BadReplyError("the model's answer is no answer" if text.strip() else "the model's answer is empty")


def _objects(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects in `text`, left to right. One in a list is not outermost."""
    if (fences := _FENCE.findall(text)) and len(fences) == 1:
        text = fences[0]
    decoder, found, at = json.JSONDecoder(), [], 0
    for _ in range(_MAX_BRACKETS):
        if not (match := _BRACKET.search(text, at)):
            break
        try:
            value, at = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            at = match.end()
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def check(
    proposed: Sequence[Proposal], turns: Sequence[Turn], ids: Mapping[str, str]
) -> tuple[tuple[Operation, ...], tuple[str, ...]]:
    """The operations that the dialogue bears out, and why each other one was dropped (without its text).

    ids: the short names of the question -> ids of memories. A new statement with an unknown id is kept as `add`:
    its evidence was found, and consolidation compares it with the store anyway.
    """
    sources = [_Source(turn) for turn in turns]
    kept: dict[tuple[str, str], Operation] = {}
    dropped: list[str] = []
    for number, proposal in enumerate(proposed, 1):
        outcome = _checked(proposal, sources, ids)
        if isinstance(outcome, str):
            dropped.append(f"{proposal.op} {number}: {outcome}")
        else:
            kept.setdefault((_plain(outcome.content), outcome.id), outcome)
    return tuple(kept.values()), tuple(dropped)


class _Source:
    """The texts of one turn as `_plain` makes them."""

    def __init__(self, turn: Turn) -> None:
        self.prompt_id = turn.prompt_id
        self.user = [_plain(text) for text in (turn.prompt, *(item.answer for item in turn.answers))]
        self.assistant = [_plain(turn.answer)]


def _checked(proposal: Proposal, sources: Sequence[_Source], ids: Mapping[str, str]) -> Operation | str:
    """The operation, or why there is none."""
    place = _place(proposal, sources)
    if place is None:
        return "its evidence is not in the dialogue"
    prompt_id, origin = place
    known = ids.get(proposal.id, "")
    action, content = proposal.op, " ".join(proposal.content.split())
    if not known:
        if action is Action.TOUCH or not content:
            return "it names no stored memory"
        action = Action.ADD
    if not content and action not in (Action.TOUCH, Action.SUPERSEDE):
        return "it has no content"
    if origin is Origin.ASSISTANT and proposal.type is ProposedType.PREFERENCE:
        return NOT_THE_USERS
    tags = (tag for tag in map(str.lower, proposal.tags) if _TAG.fullmatch(tag))
    return Operation(
        op=action,
        evidence=proposal.evidence,
        id="" if action is Action.ADD else known,
        content="" if action is Action.TOUCH else content,
        type=Type(proposal.type),
        scope=Scope(proposal.scope),
        confidence=min(proposal.confidence, HEDGED_AT_MOST) if proposal.hedged else proposal.confidence,
        hedged=proposal.hedged,
        origin=origin,
        tags=tuple(dict.fromkeys(tags)),
        aliases=tuple(dict.fromkeys(alias.strip() for alias in proposal.aliases if alias.strip())),
        prompt_id=prompt_id,
    )


def _place(proposal: Proposal, sources: Sequence[_Source]) -> tuple[str, Origin] | None:
    """The newest turn that holds the evidence, and who said it there: where it stands counts, not what is claimed."""
    quotes = [plain for part in _ELISION.split(proposal.evidence) if (plain := _plain(part))]
    if not quotes:
        return None
    found = None
    for source in reversed(sources):
        by_user, by_assistant = _holds(source.user, quotes), _holds(source.assistant, quotes)
        if by_user and (proposal.origin == "user" or not by_assistant):
            return source.prompt_id, Origin.USER
        if by_assistant and found is None:
            found = source.prompt_id, Origin.ASSISTANT
    return found


def _holds(texts: Sequence[str], quotes: Sequence[str]) -> bool:
    """Whether one text holds all quotes. A quote of one letter must be the whole text: else it proves nothing."""
    return any(all(quote in text and (len(quote) > 1 or quote == text) for quote in quotes) for text in texts)


def _plain(text: str) -> str:
    """Letters and digits alone, in one case and width: quotes differ in all else."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum())
