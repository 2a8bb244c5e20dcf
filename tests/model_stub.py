"""The tests' own stand-in for a model behind the Messages API, on 127.0.0.1.

What it "extracts" comes from the request alone: it reads the dialogue and the memories out of the question and turns
the statements it finds there into operations. So a test that finds a memory in the store knows that the fact went
through capture, queue, redaction and question; what was left out on the way is stored by nobody.

It serves plain and streamed answers, a forced tool, Claude Code's StructuredOutput, and ordinary conversation.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

RECORD, STRUCTURED = "record", "StructuredOutput"

STATES = re.compile(
    r"\b(we|our|i|my|i'm)\b.*\b(use|uses|used|decided|agreed|prefer|like|am|is|are|run|runs|have|need)\b"
    r"|\b(always|never|from now on|remember|no longer|instead|lives? (in|at|on)|port \d+)\b"
    r"|决定|以后|统一|记住|一律|不再|我们用|用的是|不要|端口",
    re.IGNORECASE,
)
REVOKES = re.compile(r"no longer|instead of|drop(ped)?\b|switch(ed)? |不再|改用|不用", re.IGNORECASE)
CHINESE = re.compile(r"[一-鿿]")


@dataclass
class Script:
    """An answer for a request whose newest user text (or, for extractions, whole question) holds `match`.

    tool: (name, input) to call first; `reply` follows once its result is back. status/body/headers: a raw HTTP answer.
    times: how often it applies, 0 for always. delay_s: pause before each word of a streamed answer.
    hold: the answer waits until this event is set.
    """

    match: str = ""
    reply: str = "Done."
    tool: tuple[str, dict[str, Any]] | None = None
    status: int = 200
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 0
    delay_s: float = 0.0
    hold: threading.Event | None = None
    extraction: bool = False


@dataclass
class Seen:
    """One request as it came: path, headers, JSON body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def extraction(self) -> bool:
        """Whether this is a question of recalld's, not the conversation of a Claude Code session."""
        return question_in(self.body) is not None


class ModelStub:
    """`with ModelStub() as model: ... model.url ... model.requests`."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = list(scripts)
        self.requests: list[Seen] = []
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._pending: deque[str] = deque()
        stub = self

        class Handler(_Handler):
            model = stub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def extractions(self) -> list[Seen]:
        return [seen for seen in self.requests if seen.extraction]

    @property
    def conversations(self) -> list[Seen]:
        return [seen for seen in self.requests if not seen.extraction]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait_for(self, count: int, timeout_s: float = 10.0) -> list[Seen]:
        """The requests, as soon as there are `count` of them."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, timeout_s):
                raise AssertionError(f"{len(self.requests)} of {count} requests after {timeout_s} s")
            return list(self.requests)

    def note(self, seen: Seen) -> None:
        with self._arrived:
            self.requests.append(seen)
            self._arrived.notify_all()

    def script_for(self, text: str, extraction: bool) -> Script | None:
        with self._lock:
            for script in self.scripts:
                if script.match in text and script.extraction == extraction:
                    if script.times == 1:
                        self.scripts.remove(script)
                    script.times = max(script.times - 1, 0)
                    return script
        return None

    def expect_result(self, reply: str) -> None:
        self._pending.append(reply)

    def result_reply(self) -> str:
        return self._pending.popleft() if self._pending else "Done."


def question_in(body: dict[str, Any]) -> dict[str, Any] | None:
    """The `{"memories": ..., "turns": ...}` of the request, wherever in its messages it stands."""
    for message in body.get("messages", []):
        for text in _texts(message):
            if '"turns":' not in text or (start := text.find('{"memories":')) < 0:
                continue
            value, _ = json.JSONDecoder().raw_decode(text, start)
            if isinstance(value, dict):
                return value
    return None


def operations(question: dict[str, Any]) -> list[dict[str, Any]]:
    """The statements of the question's own turns as operations against the question's own memories."""
    return [
        _operation(sentence, question["memories"])
        for turn in question["turns"]
        for said in (turn["user"], *(item["answer"] for item in turn.get("answers", ())))
        for sentence in _sentences(said)
    ]


def _operation(sentence: str, memories: list[dict[str, Any]]) -> dict[str, Any]:
    common = {
        "evidence": sentence, "content": "", "type": "fact", "scope": "project", "confidence": 0.9,
        "hedged": False, "origin": "user",
    }  # fmt: skip
    same = [memory for memory in memories if memory["text"].rstrip(".。") == sentence.rstrip(".。")]
    if same:
        return {**common, "op": "touch", "id": same[0]["id"]}
    shared = [memory for memory in memories if _terms(memory["text"]) & _terms(sentence)]
    if shared and REVOKES.search(sentence):
        return {**common, "op": "supersede", "id": shared[0]["id"], "content": sentence, "type": "decision"}
    kind = "decision" if re.search(r"decided|agreed|决定|统一", sentence) else "fact"
    return {**common, "op": "add", "content": sentence, "type": kind}


def _sentences(text: str) -> Iterator[str]:
    for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n", text):
        sentence = part.strip()
        if sentence and not sentence.endswith(("?", "？")) and STATES.search(sentence):
            yield sentence


def _terms(text: str) -> set[str]:
    words = {word.lower() for word in re.findall(r"[A-Za-z][\w.]{3,}", text)}
    signs = "".join(CHINESE.findall(text))
    return words | {signs[at : at + 2] for at in range(len(signs) - 1)}


def _texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content", "")
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type") == "text"]


def _newest(body: dict[str, Any]) -> tuple[str, bool]:
    """The newest text of the user's, and whether the message is the result of a tool."""
    for message in reversed(body.get("messages", [])):
        if message.get("role") != "user":
            continue
        content = message["content"]
        if isinstance(content, list) and any(block.get("type") == "tool_result" for block in content):
            return "", True
        texts = [text for text in _texts(message) if not text.lstrip().startswith("<system-reminder>")]
        if texts:
            return texts[-1], False
    return "", False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ModelStub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._send(200, b"")

    def do_GET(self) -> None:
        self._send(200, b'{"data": []}')

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw or b"{}")
        if "count_tokens" in self.path:
            return self._send(200, b'{"input_tokens": 100}')
        if "/messages" not in self.path:
            return self._send(200, b"{}")
        seen = Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.model.note(seen)
        newest, from_tool = _newest(body)
        question = question_in(body)
        script = (
            self.model.script_for(seen.text if question else newest, question is not None) if not from_tool else None
        )
        if script and script.hold:
            script.hold.wait(60)
        if script and (script.status != 200 or script.body is not None):
            return self._send(script.status, (script.body or _error(script.status)).encode(), script.headers)
        self._answer(body, *self._blocks(body, question, script, from_tool), delay_s=script.delay_s if script else 0.0)
        return None

    def _blocks(
        self, body: dict[str, Any], question: dict[str, Any] | None, script: Script | None, from_tool: bool
    ) -> tuple[list[dict[str, Any]], str]:
        names = {tool.get("name") for tool in body.get("tools", ())}
        if from_tool:
            return [_text("Recorded." if question else self.model.result_reply())], "end_turn"
        if script and script.tool and script.tool[0] in names:
            self.model.expect_result(script.reply)
            return [_call(*script.tool)], "tool_use"
        if script:
            return [_text(script.reply)], "end_turn"
        if question is None:
            return [_text("Done.")], "end_turn"
        answer = {"operations": operations(question)}
        if used := names & {RECORD, STRUCTURED}:
            return [_call(used.pop(), answer)], "tool_use"
        return [_text(json.dumps(answer, ensure_ascii=False))], "end_turn"

    def _answer(self, body: dict[str, Any], blocks: list[dict[str, Any]], stop_reason: str, *, delay_s: float) -> None:
        message = {
            "id": f"msg_{uuid.uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "stub"),
            "content": blocks,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {
                "input_tokens": len(json.dumps(body, ensure_ascii=False)) // 4,
                "output_tokens": len(json.dumps(blocks, ensure_ascii=False)) // 4,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 0,
            },
        }
        if body.get("stream"):
            return self._stream(message, delay_s)
        return self._send(200, json.dumps(message, ensure_ascii=False).encode())

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _stream(self, message: dict[str, Any], delay_s: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for kind, data in _events(message):
                if data.get("delta", {}).get("type") == "text_delta" and delay_s:
                    time.sleep(delay_s)
                self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the person interrupted


def _events(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "message_start", {"message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            yield "content_block_start", {"index": index, "content_block": {"type": "text", "text": ""}}
            for word in re.findall(r"\S+\s*|\s+", block["text"]):
                yield "content_block_delta", {"index": index, "delta": {"type": "text_delta", "text": word}}
        else:
            yield "content_block_start", {"index": index, "content_block": {**block, "input": {}}}
            part = json.dumps(block["input"], ensure_ascii=False)
            yield "content_block_delta", {"index": index, "delta": {"type": "input_json_delta", "partial_json": part}}
        yield "content_block_stop", {"index": index}
    yield (
        "message_delta",
        {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": message["usage"]},
    )
    yield "message_stop", {}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": arguments}


def _error(status: int) -> str:
    kinds = {
        400: "invalid_request_error",
        401: "authentication_error",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    return json.dumps({"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": f"stub {status}"}})
