"""The child process of the `anthropic` backend: a `protocol.Request` on stdin, one `protocol.Reply` on stdout.

It is a process because the SDK costs 50 MiB and up to a second to import, and both must go away again.
"""

from __future__ import annotations

import sys
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import msgspec

from recalld.llm.protocol import TOOL, Reply, Request, tokens


def main() -> None:
    """Answer the request on stdin."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    sys.stdout.buffer.write(msgspec.json.encode(answer(request)))


def answer(request: Request) -> Reply:
    """Make the one call. A server's or network's failure is a reply too."""
    with anthropic.Anthropic(
        api_key=request.api_key or None,
        auth_token=request.auth_token or None,
        base_url=request.base_url,
        max_retries=0,
        timeout=request.timeout_s,
    ) as client:
        return _asked(client, request)


def _asked(client: anthropic.Anthropic, request: Request) -> Reply:
    try:
        try:
            return _call(client, request, forced=True)
        except anthropic.BadRequestError as error:
            # Some models refuse a forced tool; the prompt alone then has to bring the call about. Nothing was billed.
            if "tool_choice" not in str(error):
                raise
            return _call(client, request, forced=False)
    except anthropic.APIStatusError as error:
        headers = error.response.headers
        return Reply(error=_said(error), status=error.status_code, retry_after_s=_retry_after_s(headers))
    except anthropic.APIConnectionError as error:
        return Reply(error=f"{type(error).__name__}: {error.__cause__ or error}")
    except (anthropic.AnthropicError, TypeError) as error:
        return Reply(error=str(error), status=401 if isinstance(error, TypeError) else 400)


def _call(client: anthropic.Anthropic, request: Request, *, forced: bool) -> Reply:
    response = client.messages.with_raw_response.create(
        model=request.model,
        max_tokens=request.max_tokens,
        system=[{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": request.user}],
        tools=[{"name": TOOL, "description": "Record what this dialogue changes.", "input_schema": request.schema}],
        tool_choice={"type": "tool", "name": TOOL} if forced else {"type": "auto"},
    )
    return read(response.http_response.content)


def read(body: bytes) -> Reply:
    """The Messages response in `body`, taken as data: compatible servers leave out or add what they like."""
    try:
        message = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return Reply(text=body[:2000].decode("utf-8", "replace"))
    if not isinstance(message, dict) or message.get("type") == "error" or not isinstance(message.get("content"), list):
        return Reply(text=body[:2000].decode("utf-8", "replace"))
    blocks = [block for block in message["content"] if isinstance(block, dict)]
    calls = [block.get("input") for block in blocks if block.get("type") == "tool_use" and block.get("name") == TOOL]
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    return Reply(
        call=calls[0] if len(calls) == 1 else calls or None,
        text="\n".join(texts),
        stop_reason=str(message.get("stop_reason") or ""),
        tokens=tokens(message.get("usage")),
    )


def _said(error: anthropic.APIStatusError) -> str:
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return str(message or error)


def _retry_after_s(headers: Any) -> float | None:
    """What `retry-after-ms` or `retry-after` (seconds or an HTTP date) asks for, at most an hour."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            wait_s = float(milliseconds) / 1000
        elif not (text := headers.get("retry-after")):
            return None
        elif text.replace(".", "", 1).isdigit():
            wait_s = float(text)
        else:
            until = parsedate_to_datetime(text)
            wait_s = until.timestamp() - parsedate_to_datetime(headers["date"]).timestamp()
    except (ValueError, KeyError):
        return None
    return min(max(wait_s, 0.0), 3600.0)


if __name__ == "__main__":
    main()
