"""The parent's side of the `anthropic` backend: one question through the child process."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping

import msgspec

from recalld.errors import UnavailableError
from recalld.llm import child, protocol
from recalld.llm.credentials import Credentials, is_local, secret
from recalld.llm.prompt import Question
from recalld.llm.protocol import BadReplyError, Reply, Request

_MARGIN_S = 5.0
"""The SDK gives up this much before the process is ended, so that it can say why."""


async def call(
    credentials: Credentials,
    question: Question,
    model: str,
    env: Mapping[str, str],
    *,
    max_tokens: int,
    deadline_s: float,
) -> Reply:
    """Ask the Messages API. Raises TransientError, BadReplyError, UnavailableError."""
    request = Request(
        base_url=credentials.base_url,
        api_key=await secret(credentials, env),
        auth_token=credentials.auth_token,
        model=model,
        system=question.system,
        user=question.user,
        schema=protocol.schema(),
        max_tokens=max_tokens,
        timeout_s=max(deadline_s - _MARGIN_S, deadline_s / 2),
    )
    environment = child.environment(env, proxies=not is_local(credentials.base_url), more=("ANTHROPIC_CUSTOM_HEADERS",))
    with tempfile.TemporaryDirectory(prefix="recalld-", ignore_cleanup_errors=True) as folder:
        finished = await child.run(
            [sys.executable, "-P", "-m", "recalld.llm.anthropic_child"],
            msgspec.json.encode(request),
            env=environment,
            cwd=folder,
            deadline_s=deadline_s,
        )
    if finished.returncode:
        last = finished.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        if "ModuleNotFoundError" in last:
            raise UnavailableError(f"the anthropic backend cannot start: {last}")
        raise BadReplyError(f"the model's process ended with {finished.returncode}: {last.partition(':')[0]}")
    try:
        reply = msgspec.json.decode(finished.stdout, type=Reply)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise BadReplyError("the model's process wrote something else than its reply") from error
    return msgspec.structs.replace(reply, error=_without(reply.error, request.api_key, request.auth_token))


def _without(text: str, *keys: str) -> str:
    """A server may quote the key that it refuses: an error is logged and shown."""
    for key in keys:
        if key:
            text = text.replace(key, "[redacted:key]")
    return text
