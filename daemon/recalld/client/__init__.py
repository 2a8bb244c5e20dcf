"""The library: what a Python program asks of the daemon, with typed answers.

    from recalld.client import Client

    recalld = Client()
    recalld.add("The API listens on port 8080.", type="decision")
    for found in recalld.search("which port?"):
        print(f"{found.similarity:.2f}", found.memory.content)

`AsyncClient` has the same methods to await. Both work with a running daemon only: where none answers they raise
UnavailableError (the commands of `recalld` open the database themselves then; `recalld start` starts a daemon).
Everything raised is a `recalld.errors.RecalldError`: InputError for a request that cannot be, ConflictError for a
write on a version that is not the stored one any more, UnavailableError for no daemon or no answer in time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

import msgspec

from recalld import calling
from recalld.answers import Page
from recalld.client.asking import Ask
from recalld.client.changing import Changing
from recalld.client.looking import Looking

__all__ = ["AsyncClient", "Client"]

T = TypeVar("T")


class Client(Looking, Changing):
    """The daemon of one home. Every call waits for its answer; may be used in several threads."""

    def call(self, verb: str, /, **arguments: Any) -> Any:
        """What any verb answers, as plain data; for those that have no method here."""
        return calling.call(self.path, verb, {"source": self.source, **arguments}, self.timeout_s)

    def answered(self, ask: Ask[T]) -> T:
        """What a call is answered."""
        return msgspec.convert(self.call(ask.verb, **ask.arguments), ask.answer)

    def exchange(self, request: bytes) -> bytes:
        """The reply to a request in bytes, a hook's say."""
        return calling.exchange(self.path, request, self.timeout_s)

    def export(self, *, project: str | None = None) -> Iterator[Page]:
        """Everything that belongs to memories, a page at a time."""
        after: int | None = 0
        while after is not None:
            page = self.export_page(project=project, after=after)
            after = page.next
            yield page


class AsyncClient(Looking, Changing):
    """The daemon of one home, for programs with an event loop."""

    async def call(self, verb: str, /, **arguments: Any) -> Any:
        """What any verb answers, as plain data; for those that have no method here."""
        sent = calling.request(verb, {"source": self.source, **arguments})
        try:
            async with asyncio.timeout(self.timeout_s):
                reply = await self._exchange(sent)
        except OSError as error:
            raise calling.silent(self.path, error, self.timeout_s) from error
        return calling.answer(self.path, reply)

    async def answered(self, ask: Ask[T]) -> T:
        """What a call is answered."""
        return msgspec.convert(await self.call(ask.verb, **ask.arguments), ask.answer)

    async def export(self, *, project: str | None = None) -> AsyncIterator[Page]:
        """Everything that belongs to memories, a page at a time."""
        after: int | None = 0
        while after is not None:
            page = await self.export_page(project=project, after=after)
            after = page.next
            yield page

    async def _exchange(self, sent: bytes) -> bytes:
        if len(os.fsencode(self.path)) < calling.LONGEST:
            reader, writer = await asyncio.open_unix_connection(str(self.path))
        else:  # by way of its folder, which must not be left to another task
            connection = calling.connect(self.path, self.timeout_s)
            reader, writer = await asyncio.open_unix_connection(sock=connection)
        try:
            writer.write(sent)
            writer.write_eof()
            return await reader.read()
        finally:
            writer.close()
