"""MCP at /mcp of the HTTP door, with the SDK's own streamable HTTP client."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, types
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client

from conftest import memory
from mcp_client import MODES, call, refused, run, tool_call
from web_house import Web, web_of


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """A home that serves HTTP."""
    with web_of(tmp_path) as serving:
        yield serving


@contextlib.asynccontextmanager
async def client(
    web: Web, query: str = "", mode: str = "auto", root: Path | None = None, token: str = "", **headers: str
) -> AsyncIterator[Client]:
    async def told(context: ClientRequestContext) -> types.ListRootsResult:
        assert root
        return types.ListRootsResult(roots=[types.Root(uri=root.as_uri())])

    sent = {"Authorization": f"Bearer {token or web.token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    async with httpx2.AsyncClient(headers=sent, timeout=30) as http, Client(
        streamable_http_client(f"{web.url}/mcp{query}", http_client=http), mode=mode, cache=None,
        list_roots_callback=told if root else None, client_info=types.Implementation(name="over-http", version="1"),
    ) as connected:  # fmt: skip
        yield connected


@pytest.mark.parametrize("mode", MODES)
def test_the_tools_work_over_http(web: Web, mode: str) -> None:
    """The project is named in the URL, the client's name in a header."""
    memory(web.home, "The shop sells tea.")

    async def work() -> None:
        async with client(web, "?project=shop", mode, X_Recalld_Client="my-bot") as on:
            assert len((await on.list_tools()).tools) == 6
            written = await call(on, "mem_write", content="The API listens on port 8080.")
            assert written["memory"]["project"] == "shop"
            found = await call(on, "mem_search", query="which port?")
            assert found["memories"][0]["content"] == "The API listens on port 8080."
            memory_id = written["memory"]["id"]
            (content,) = (await on.read_resource(f"recalld://memory/{memory_id}")).contents
            assert "8080" in json.dumps(content.model_dump(mode="json"))
            assert "has changed" in await refused(on, "mem_update", id=memory_id, content="New.", version=7)

    run(work())
    assert {row["source"] for row in web.home.json("list")} == {"cli", "my-bot"}


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_names_no_project_sees_none(web: Web, mode: str) -> None:
    """B86: over HTTP, too; `all` has to be said, and a client of today may tell its roots."""
    memory(web.home, "The shop sells tea.")

    async def texts(**more: Any) -> list[str]:
        async with client(web, mode=mode, **more) as on:
            return [row["content"] for row in (await call(on, "mem_search", query="tea"))["memories"]]

    async def work() -> None:
        assert await texts() == []
        async with client(web, "", mode) as on:
            assert "not open to this client" in await refused(on, "mem_search", query="tea", project="shop")
        async with client(web, "?project=all", mode) as on:
            assert (await call(on, "mem_search", query="tea"))["memories"] == []
            assert (await call(on, "mem_search", query="tea", project="all"))["memories"]
        # To ask for roots needs a channel back, which the old way does not have without a session.
        assert await texts(root=web.home.project) == (["The shop sells tea."] if mode == "auto" else [])

    run(work())


def test_half_of_an_emoji_is_taken_as_on_stdio(web: Web) -> None:
    """B66: as a lone surrogate, which JSON can hold and UTF-8 cannot."""
    asked = json.dumps(tool_call(1, "mem_write", content="TEXT")).replace('"TEXT"', '"The tea is \\ud83d green."')
    accept = {"Accept": "application/json, text/event-stream"}
    answer = web.ask("POST", "/mcp", raw=asked.encode(), headers=accept)
    assert answer.status == 200
    assert answer.data["result"]["structuredContent"]["memory"]["content"] == "The tea is \ufffd green."


def test_nobody_without_the_token_reaches_it(web: Web) -> None:
    async def work() -> None:
        async with client(web, token="x" * 43) as on:
            await on.list_tools()

    with pytest.raises(BaseExceptionGroup) as caught:
        run(work())
    assert caught.group_contains((MCPError, httpx2.HTTPError))
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    assert web.ask("POST", "/mcp", hello, token=None, headers=accept).status == 401
    assert web.ask("POST", "/mcp", hello, headers={**accept, "Origin": "http://evil.example"}).status == 403
    assert web.ask("POST", "/mcp", hello, headers={**accept, "Host": "evil.example"}).status == 403
    assert web.ask("POST", "/mcp", raw=b"x" * 1_100_000, headers=accept).status == 413
    assert web.ask("POST", "/mcp", raw=b'{"a": "\\ud83d"', headers=accept).status == 400
    assert web.ask("POST", "/mcp", hello, headers=accept).status == 200
