"""Asking a model what new turns change in the memory: which backend, whether at all, and one checked call."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from recalld.config import Config, ExtractConfig
from recalld.errors import PermanentError, RecalldError, TransientError, UnavailableError
from recalld.llm import anthropic_api, claude_cli, credentials, prompt, reading
from recalld.llm.credentials import Credentials
from recalld.llm.gate import worth_asking
from recalld.llm.protocol import BadReplyError, NoAnswerError, Operation, RefusedError, Reply, TooLongError, failure
from recalld.model import Memory, Turn
from recalld.paths import claude_config_dir
from recalld.store.usage import Call, cost_usd

__all__ = ["Choice", "Extraction", "ask", "choose", "worth_asking"]

DEADLINE_S = 60.0
MAX_OUTPUT_TOKENS = 4096
"""Room for about 30 operations."""

Backend = Literal["anthropic", "claude", "rules"]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The backend in use and, in one line for `status`, why.

    claude: the path of the client. claude_env: what Claude Code's settings would set for it, which we keep it from
    reading. paid: a call costs money (a key; not a login, not a server on this machine).
    """

    backend: Backend
    reason: str
    credentials: Credentials | None = None
    claude: str = ""
    claude_env: dict[str, str] = {}
    paid: bool = False

    @property
    def remote(self) -> bool:
        """Whether what is asked leaves this machine."""
        return self.credentials is None or not self.credentials.local

    def __repr__(self) -> str:  # without what a log must not hold
        return f"Choice({self.reason})"


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """What a call brought. dropped: why proposals were not taken, without their text."""

    operations: tuple[Operation, ...]
    dropped: tuple[str, ...]


def choose(config: Config, env: Mapping[str, str], home: Path | None = None) -> Choice:
    """The backend that the config asks for and that can be used here. Reads files, starts nothing.

    `auto` takes the first that works; a backend that is asked for by name and cannot be used leaves the rules, too.
    """
    wanted, home = config.extract.backend, home or Path.home()
    if wanted == "rules":
        return Choice(backend="rules", reason="rules: set in the config")
    config_dir = claude_config_dir(env, home)
    reasons = []
    if wanted in ("auto", "anthropic"):
        found, why = credentials.find(config.extract, env, config_dir)
        if found:
            paid = not found.local
            return Choice(backend="anthropic", reason=f"anthropic: {why}", credentials=found, paid=paid)
        reasons.append(why)
    if wanted in ("auto", "claude"):
        settings = credentials.claude_env(config_dir)
        if not (path := claude_cli.find(env, home)):
            reasons.append("no claude found")
        elif not (account := claude_cli.account({**env, **settings}, config_dir, home)):
            reasons.append(f"{path} is not logged in")
        else:
            paid = account != "login"
            return Choice(backend="claude", reason=f"claude: {path}", claude=path, claude_env=settings, paid=paid)
    return Choice(backend="rules", reason=f"rules only: {'; '.join(reasons)}")


async def ask(
    turns: Sequence[Turn],
    neighbours: Sequence[Memory],
    choice: Choice,
    config: ExtractConfig,
    env: Mapping[str, str],
    *,
    record: Callable[[Call], Awaitable[None]],
    limit_chars: int = prompt.LIMIT_CHARS,
    deadline_s: float = DEADLINE_S,
) -> Extraction:
    """What `turns` (of one session, redacted, oldest first) change in `neighbours` (most similar first).

    record: takes the call into the ledger, once, also when it failed, before this returns or raises.
    Raises TransientError (wait; `retry_after_s`), BadReplyError (try again, up to a number of attempts), NoAnswerError
    (both), TooLongError (ask with half of `limit_chars`), UnavailableError (stop and show), PermanentError.
    """
    question = prompt.build(turns, neighbours, limit_chars)
    started, reply, outcome = time.monotonic(), None, "failed"
    try:
        reply = await _send(question, choice, config, env, deadline_s)
        if reply.error:
            raise failure(reply, choice.backend)
        proposed = reading.proposals(reply)
        operations, dropped = reading.check(proposed, turns, question.ids)
        if dropped and not operations and not any(reading.NOT_THE_USERS in reason for reason in dropped):
            raise BadReplyError(f"nothing of the model's answer holds: {dropped[0]}")
        outcome = "ok"
    except RecalldError as error:
        outcome = _outcome(error)
        raise
    finally:
        call = _call(choice, config, reply or Reply(), outcome, round((time.monotonic() - started) * 1000))
        if reply is not None or outcome != "unavailable":  # else no call was made
            await record(call)
    return Extraction(operations=operations, dropped=dropped)


async def _send(
    question: prompt.Question, choice: Choice, config: ExtractConfig, env: Mapping[str, str], deadline_s: float
) -> Reply:
    if choice.backend == "anthropic" and choice.credentials:
        return await anthropic_api.call(
            choice.credentials, question, config.model, env, max_tokens=MAX_OUTPUT_TOKENS, deadline_s=deadline_s
        )
    if choice.backend == "claude":
        return await claude_cli.call(
            choice.claude,
            question,
            config.model,
            {**env, **choice.claude_env},
            max_tokens=MAX_OUTPUT_TOKENS,
            deadline_s=deadline_s,
        )
    raise UnavailableError(choice.reason)


def _call(choice: Choice, config: ExtractConfig, reply: Reply, outcome: str, ms: int) -> Call:
    tokens = reply.tokens
    usd = reply.cost_usd
    if not choice.paid:
        usd = 0.0
    elif usd is None:
        usd = cost_usd(config.model, tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
    return Call(
        backend=choice.backend,
        model=config.model,
        outcome=outcome,
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        cost_usd=usd,
        ms=ms,
    )


def _outcome(error: RecalldError) -> str:
    kinds = {
        BadReplyError: "bad-reply",
        TransientError: "transient",
        NoAnswerError: "transient",
        TooLongError: "too-long",
        RefusedError: "refused",
        UnavailableError: "unavailable",
        PermanentError: "failed",
    }
    return kinds.get(type(error), "failed")
