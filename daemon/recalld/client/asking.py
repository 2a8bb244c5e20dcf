"""How a method of the library is said once for both clients."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, TypeVar, overload

from recalld import paths
from recalld.model import Scope, Type

if TYPE_CHECKING:
    from recalld.client import AsyncClient, Client

TIMEOUT_S = 30.0
SOURCE = "python"

P = ParamSpec("P")
T = TypeVar("T")
ScopeName = Scope | Literal["user", "project", "org"]
TypeName = Type | Literal["fact", "preference", "decision", "lesson", "progress", "summary"]
Listing = list
"""In `Looking`, `list` is a method."""


class Ask(NamedTuple, Generic[T]):
    """A call, and what its answer is."""

    verb: str
    arguments: dict[str, Any]
    answer: type[T]


class Verb(Generic[P, T]):
    """A method that says what to ask: `Client` then returns the answer, `AsyncClient` something to await."""

    def __init__(self, ask: Callable[Concatenate[Any, P], Ask[T]]) -> None:
        self._ask = ask

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Ask[T]]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Callable[..., Any]:
        """The method of `client`."""
        if client is None:
            return self._ask
        return functools.wraps(self._ask)(lambda *given, **named: client.answered(self._ask(client, *given, **named)))


class Asking:
    """What both clients can be asked; `-> Ask[X]` reads: returns an X, or with `AsyncClient` something to await for it.

    An argument that is None is as if it were not given.

    project: its NAME, `#number`, a path in it, or `all`; the project of the working directory where none is named.
    Ids may be shortened, as in git.
    """

    def __init__(
        self,
        socket_path: Path | None = None,
        timeout_s: float = TIMEOUT_S,
        *,
        source: str = SOURCE,
        cwd: str | None = None,
    ) -> None:
        """A client holds no connection: each call makes its own, so there is nothing to close.

        socket_path: that of the owner's home unless given. timeout_s: for each whole call. source: the name of the
        program, kept with what it writes. cwd: the folder that is "here"; "" for none; None: the working directory.
        """
        self.path = socket_path or paths.find().socket
        self.timeout_s = timeout_s
        self.source = source
        self._cwd = cwd

    def _asked(self, verb: str, answer: type[T], /, **arguments: Any) -> Ask[T]:
        return Ask(verb, {name: value for name, value in arguments.items() if value is not None}, answer)

    @property
    def here(self) -> str:
        """The folder whose project is meant where none is named; empty where there is none."""
        if self._cwd is not None:
            return self._cwd
        try:
            return os.getcwd()
        except OSError:
            return ""
