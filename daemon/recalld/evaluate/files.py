"""The four kinds of labelled files, one JSON object a line, told apart by their fields."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from recalld.errors import InputError
from recalld.model import Scope, Type

GZIP = b"\x1f\x8b"
Id = str | int
Regexes = tuple[str, ...]
Kind = Literal["retrieval", "recall", "extraction", "lifecycle"]


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that are not read here are left to whoever wrote them."""


class Document(_Line, frozen=True, kw_only=True):
    """What a corpus holds. speaker, date and session are its provenance; name and aliases are what it is called."""

    id: Id
    text: str
    speaker: str | None = None
    date: str | None = None
    session: Id | None = None
    name: str | None = None
    aliases: tuple[str, ...] | None = None


class Question(_Line, frozen=True, kw_only=True):
    """A query and the documents that answer it; `rel` None where nobody has said which."""

    q: str
    rel: tuple[Id, ...] | None = None
    cat: str | None = None


class Corpus(_Line, frozen=True, kw_only=True):
    """Documents and the questions asked of them."""

    corpus: str
    docs: tuple[Document, ...]
    queries: tuple[Question, ...]


class Remembered(_Line, frozen=True, kw_only=True, tag_field="kind", tag="memory"):
    """A memory of a recall set. broad: it fits almost any turn, and is not counted."""

    project: str
    id: Id
    content: str
    scope: Scope = Scope.PROJECT
    type: Type = Type.FACT
    broad: bool = False


class Prompt(_Line, frozen=True, kw_only=True, tag_field="kind", tag="prompt"):
    """A prompt of a recall set. relevant: what should be injected; ok: what may be."""

    project: str
    id: Id
    text: str
    relevant: tuple[Id, ...] | None = None
    ok: tuple[Id, ...] | None = None


class Said(_Line, frozen=True, kw_only=True):
    """A turn."""

    prompt: str
    answer: str = ""


class Expected(_Line, frozen=True, kw_only=True):
    """One stored memory has to match all of `must`, in this scope (None: in any), at least so surely."""

    must: Regexes
    type: Type | None = None
    alt_types: tuple[Type, ...] = ()
    scope: Scope | None = None
    min_conf: float | None = None


class Dialogue(_Line, frozen=True, kw_only=True):
    """Turns of one session, what should be stored of them, and what no stored memory may match."""

    id: Id
    turns: tuple[Said, ...]
    lang: str = ""
    tier: str | None = None
    expect: tuple[Expected, ...] | None = None
    forbid: Regexes | None = None

    @property
    def labelled(self) -> bool:
        """Whether it can be scored."""
        return self.tier is not None and (self.expect is not None or self.forbid is not None)


class Step(_Line, frozen=True, kw_only=True):
    """One thing that happens in a lifecycle case: exactly one of these, `type` going with `remember`."""

    say: Said | None = None
    remember: str | None = None
    type: Type | None = None
    delete: str | None = None
    edit: tuple[str, str] | None = None
    replay: Annotated[int, msgspec.Meta(ge=0)] | None = None
    days: Annotated[int, msgspec.Meta(ge=0)] | None = None


class Final(_Line, frozen=True, kw_only=True):
    """What has to be left at the end; None leaves a point open."""

    active: tuple[Regexes, ...] | None = None
    superseded: tuple[Regexes, ...] | None = None
    conflict: tuple[tuple[str, str], ...] | None = None
    absent: Regexes | None = None
    count_max: int | None = None


class Life(_Line, frozen=True, kw_only=True):
    """Steps in order, from an empty store, and what they should come to."""

    id: Id
    steps: tuple[Step, ...]
    lang: str = ""
    tier: str | None = None
    final: Final | None = None

    @property
    def labelled(self) -> bool:
        """Whether it can be scored."""
        return self.tier is not None and self.final is not None


Case = Corpus | Remembered | Prompt | Dialogue | Life
_T = TypeVar("_T")


class CaseFile(msgspec.Struct, frozen=True):
    """A file's cases, all of one kind."""

    name: str
    kind: Kind
    cases: tuple[Case, ...]

    def of(self, wanted: type[_T]) -> list[_T]:
        """Those of its cases that are `wanted`."""
        return [case for case in self.cases if isinstance(case, wanted)]


def read(path: Path) -> CaseFile:
    """The cases in `path`, plain or compressed. Raises InputError, which names the file and the line."""
    kind: Kind | None = None
    cases: list[Case] = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            found, case = _case(line)
            _check(case)
        except (msgspec.DecodeError, TypeError, ValueError) as error:
            raise InputError(f"{path}:{number}: {error}") from error
        if kind and found != kind:
            raise InputError(f"{path}:{number}: a case of the kind {found} in a file of {kind} cases")
        kind = found
        cases.append(case)
    if kind is None:
        raise InputError(f"{path}: there are no cases in it")
    return CaseFile(str(path), kind, tuple(cases))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        data = path.read_bytes()
        return iter(
            (gzip.decompress(data) if data.startswith(GZIP) else data).removeprefix(b"\xef\xbb\xbf").splitlines()
        )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the compressed file is damaged: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _case(line: bytes) -> tuple[Kind, Case]:
    fields = msgspec.json.decode(line)
    if not isinstance(fields, Mapping):
        raise TypeError("no JSON object")
    kind, shape = _shape(fields)
    return kind, msgspec.convert(fields, shape)


def _shape(fields: Mapping[str, Any]) -> tuple[Kind, Any]:
    """What the fields make of a case. Raises ValueError."""
    if "steps" in fields:
        return "lifecycle", Life
    if "turns" in fields:
        return "extraction", Dialogue
    if "docs" in fields and "queries" in fields:
        return "retrieval", Corpus
    if fields.get("kind") in ("memory", "prompt"):
        return "recall", Remembered | Prompt
    raise ValueError("not a case: it has neither docs and queries, nor kind memory or prompt, nor turns, nor steps")


def _check(case: Case) -> None:
    """Raises re.error or ValueError for what could not be run or scored."""
    if isinstance(case, Dialogue):
        _compile([*(case.forbid or ()), *(pattern for item in case.expect or () for pattern in item.must)])
    elif isinstance(case, Life):
        final = case.final or Final()
        for group in (*(final.active or ()), *(final.superseded or ()), *(final.conflict or ()), final.absent or ()):
            _compile(group)
        for number, step in enumerate(case.steps):
            _check_step(case, number, step)


def _check_step(case: Life, number: int, step: Step) -> None:
    actions = [step.say, step.remember, step.delete, step.edit, step.replay, step.days]
    if sum(action is not None for action in actions) != 1:
        raise ValueError(f"step {number}: not exactly one of say, remember, delete, edit, replay, days")
    if step.replay is not None and (step.replay >= number or case.steps[step.replay].say is None):
        raise ValueError(f"step {number}: replay {step.replay} is no earlier say step")


def _compile(patterns: Iterable[str]) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
