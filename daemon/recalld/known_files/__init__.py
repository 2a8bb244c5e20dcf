"""What Claude Code reads by itself: `CLAUDE.md`, `.claude/rules`, what they import, and its own notes.

A memory that stands there is not injected a second time. The files are only compared with; nothing of them is stored
or learnt. They are read again when they change: each look costs a `stat` a file, and no more while they stay the same.
"""

from __future__ import annotations

import itertools
import os
import stat
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from recalld.consolidate.compare import Relation, compare
from recalld.known_files import sentences
from recalld.known_files.sentences import Sentence
from recalld.statement import parse

K = TypeVar("K")
V = TypeVar("V")

NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
NOTES = "memory/MEMORY.md"
MAX_BYTES = 128 * 1024
"""So much of a file is looked at."""
NOTES_BYTES, NOTES_LINES = 25 * 1024, 200
"""So much of its notes Claude Code itself reads, whichever ends first."""
MAX_FILES = 200
MAX_FOLDERS = 32
"""Levels above the working directory, and folders of rules."""
MAX_SENTENCES = 4_000
MAX_SETS = 32
"""So many working directories are kept at hand, and the files of each."""
MAX_ANSWERS = 5_000
SHARED = 0.5
"""The share of a memory's words that a sentence needs before the two are compared in earnest."""
COMPARED = 4
"""So many of the sentences that share most are compared; each takes about 0.2 ms, once."""


class _Stamp(NamedTuple):
    """What changes when a file does."""

    mtime_ns: int
    size: int
    inode: int
    device: int


class _Source(NamedTuple):
    """A file that may be read. root: what it must lie in, links followed."""

    path: str
    root: str


class _Read(NamedTuple):
    """What a file said when it was so."""

    stamp: _Stamp
    sentences: tuple[Sentence, ...]
    imports: tuple[str, ...]


class Said:
    """What the files of one working directory say; unchanging but for the answers it remembers."""

    def __init__(self, sentences: Sequence[Sentence] = ()) -> None:
        self._sentences = sentences[:MAX_SENTENCES]
        self._by_word: dict[str, list[int]] = {}
        for number, sentence in enumerate(self._sentences):
            for word in sentence.words:
                self._by_word.setdefault(word, []).append(number)
        self._answers: dict[str, bool] = {}

    def says(self, content: str) -> bool:
        """Whether a sentence of the files says all that `content` does, with the same numbers, names and signs."""
        if not self._sentences:
            return False
        answer = self._answers.get(content)
        if answer is None:
            if len(self._answers) >= MAX_ANSWERS:
                self._answers.clear()
            answer = self._answers[content] = any(_covers(text, content) for text in self._likely(content))
        return answer

    def _likely(self, content: str) -> list[str]:
        """The sentences that hold each number of `content` and share most of its words."""
        words = sentences.words_of(content)
        numbers = {word for word in words if any(char.isdigit() for char in word)}
        shared = Counter(number for word in words for number in self._by_word.get(word, ()))
        likely = (
            self._sentences[place]
            for place, count in shared.most_common()
            if count >= SHARED * len(words) and numbers <= self._sentences[place].words
        )
        return [sentence.text for sentence in itertools.islice(likely, COMPARED)]


class KnownFiles:
    """The files that Claude Code reads, by working directory. config: Claude Code's own folder, as `~/.claude`.

    Reads files, so it belongs on no thread that others wait for; any number of threads may ask. Raises nothing for
    what it finds there.
    """

    def __init__(self, config: Path) -> None:
        self._config = str(config)
        self._one_at_a_time = threading.Lock()
        self._read: OrderedDict[str, _Read] = OrderedDict()
        self._rules: dict[str, tuple[dict[str, int], list[str]]] = {}
        self._sets: OrderedDict[tuple[str, str], tuple[tuple[tuple[str, _Stamp], ...], Said]] = OrderedDict()

    def at(self, cwd: str, transcript: str | None) -> Said:
        """What the files say to a session that was started in `cwd` and writes `transcript`."""
        with self._one_at_a_time:
            return self._at(cwd, os.path.dirname(transcript) if transcript else "")

    def _at(self, cwd: str, notes: str) -> Said:
        stamps: dict[str, _Stamp] = {}
        found = [self._file(source, stamps) for source in self._sources(cwd, notes)]
        found += [
            self._file(_Source(path, root), stamps, follow=False)
            for read, root in [pair for pair in found if pair]
            for path in read.imports
        ]
        key, now = (cwd, notes), tuple(stamps.items())
        known = self._sets.get(key)
        if known is None or known[0] != now:
            sentences = [sentence for pair in found if pair for sentence in pair[0].sentences]
            known = self._sets[key] = (now, Said(sentences))
        _keep_newest(self._sets, key, MAX_SETS)
        return known[1]

    def _sources(self, cwd: str, notes: str) -> Iterator[_Source]:
        folders = _upward(cwd)
        for folder in folders:
            for name in NAMES:
                yield _Source(f"{folder}/{name}", folders[-1])
            for path in self._rules_in(f"{folder}/.claude/rules"):
                yield _Source(path, folders[-1])
        yield _Source(f"{self._config}/CLAUDE.md", self._config)
        for path in self._rules_in(f"{self._config}/rules"):
            yield _Source(path, self._config)
        if notes:
            yield _Source(f"{notes}/{NOTES}", notes)

    def _rules_in(self, folder: str) -> list[str]:
        """The rules in and below `folder`; listed again when one of its folders has changed."""
        known = self._rules.get(folder)
        if known and all(_mtime(each) == at for each, at in known[0].items()):
            return known[1]
        folders = {folder: _mtime(folder)}
        files: list[str] = []
        for top, below, names in os.walk(folder):
            below.sort()
            files += [f"{top}/{name}" for name in sorted(names) if name.endswith(".md")]
            folders |= {f"{top}/{name}": _mtime(f"{top}/{name}") for name in below}
            if len(files) > MAX_FILES or len(folders) > MAX_FOLDERS:
                break
        if len(self._rules) > MAX_SETS * MAX_FOLDERS:
            self._rules.clear()
        self._rules[folder] = (folders, files[:MAX_FILES])
        return files[:MAX_FILES]

    def _file(self, source: _Source, stamps: dict[str, _Stamp], *, follow: bool = True) -> tuple[_Read, str] | None:
        """What a file says, if it is there, ours to read, and not one too many; notes its stamp.

        follow: its imports count; they do not for what was imported itself.
        """
        if len(stamps) >= MAX_FILES or source.path in stamps or (stamp := _stamp(source.path)) is None:
            return None
        known = self._read.get(source.path)
        if known is None or known.stamp != stamp:
            text = _text(source)
            notes = source.path.endswith(NOTES)
            if notes:
                text = "\n".join(text[:NOTES_BYTES].split("\n")[:NOTES_LINES])
            imports = sentences.imports(text, source.path) if follow and not notes else ()
            known = self._read[source.path] = _Read(stamp, sentences.sentences(text), imports)
        _keep_newest(self._read, source.path, MAX_SETS * MAX_FILES)
        stamps[source.path] = stamp
        return known, source.root


def _covers(sentence: str, content: str) -> bool:
    """Whether the sentence says what `content` says, or more, of the same environment."""
    if parse(content).environments != parse(sentence).environments:
        return False
    if compare(content, sentence).relation in (Relation.SAME, Relation.COVERED):
        return True
    return compare(sentence, content).relation in (Relation.SAME, Relation.REFINES)


def _upward(cwd: str) -> list[str]:
    """`cwd` and the folders above it up to the top of its repository; `cwd` alone where there is none."""
    if not os.path.isabs(cwd):
        return []
    folders: list[str] = []
    folder = os.path.realpath(cwd)
    while len(folders) < MAX_FOLDERS:
        folders.append(folder)
        if any(os.path.lexists(f"{folder}/{name}") for name in (".git", ".jj", ".hg")):
            return folders
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return folders[:1]


def _text(source: _Source) -> str:
    """The beginning of a regular file that really lies in its root; empty for anything else."""
    path, root = os.path.realpath(source.path), os.path.realpath(source.root)
    if os.path.commonpath((path, root)) != root:
        return ""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace") if _regular(os.fstat(descriptor)) else ""
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not _regular(status):
        return None
    return _Stamp(status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)


def _regular(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode)


def _mtime(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _keep_newest(kept: OrderedDict[K, V], key: K, limit: int) -> None:
    kept.move_to_end(key)
    while len(kept) > limit:
        kept.popitem(last=False)
