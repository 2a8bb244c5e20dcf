"""From ranked memories to the text that Claude gets: what goes in, why, and how it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from recalld import segment
from recalld.block import GROUPS, HEAD, Group, block, estimate_tokens, size
from recalld.config import MemoryConfig
from recalld.model import Scope, Type
from recalld.scored import SHORT_ID, Scored
from recalld.store.injections import Considered

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HEAD", "NOTHING", "Group", "Selection", "block", "estimate_tokens", "for_prompt", "for_start"]

MAX_UTF16 = 9_400
"""Claude Code replaces more than 10,000 characters by a preview; the contract is 9,500, some of it for what is around."""
PINNED_TOKENS = 800
SAME = 0.94
"""Cosine from which two memories that name the same numbers and names say the same."""
SAME_WORDS = 0.85
"""The same by shared words, where there are no vectors."""
CONSIDERED = 12
"""So many of the best that were left out are noted in the receipt."""
PROGRESS_ITEMS = 3
"""So many notes on where work stopped."""
USER_ITEMS = 8
"""So many of user scope come before the project's; the others wait behind them."""


class Selection(msgspec.Struct, frozen=True):
    """What is given, and everything that was weighed. tokens: what the block will cost, by our estimate.

    pinned_left_out: how many pinned memories found no room; the owner is told.
    """

    groups: tuple[Group, ...] = ()
    considered: tuple[Considered, ...] = ()
    tokens: int = 0
    pinned_left_out: int = 0


NOTHING = Selection()

Known = Callable[[Scored], bool]


def for_prompt(
    ranked: Sequence[Scored],
    given: Collection[str],
    spent_tokens: int,
    config: MemoryConfig,
    vectors: Mapping[int, NDArray[Any]] | None = None,
    known: Known | None = None,
    share: float = 1.0,
) -> Selection:
    """The few memories that matter to a prompt.

    given: ids this session has already. spent_tokens: what the session was given so far. vectors: by seq, to see
    near-duplicates. known: whether Claude has it from a file of its own. share: of the budget, less than 1 where the
    context window is nearly full.
    """
    room = _Room(
        items=config.max_items_per_prompt,
        tokens=int(min(config.max_tokens_per_prompt, config.max_tokens_per_session - spent_tokens) * share),
    )
    fitting = {item.id for item in ranked if item.similarity >= config.similarity_threshold}
    taken = _Taken(vectors or {})
    considered = []
    for item in ranked:
        reason = _against(item, given, known)
        if not reason and item.id not in fitting:
            reason = "below the threshold"
        reason = reason or _outdated(item, fitting) or room.refuses(item) or taken.repeats(item)
        considered.append(_considered(item, reason, "relevant"))
        if not reason:
            room.charge(item)
            taken.add(item)
    return _selection(taken.items, considered, room.used_tokens, 0, set())


def for_start(
    standing: Sequence[Scored],
    given: Collection[str],
    spent_tokens: int,
    config: MemoryConfig,
    known: Known | None = None,
    share: float = 1.0,
) -> Selection:
    """What a session starts with: pinned memories, user scope, standing rules, and where work stopped last time.

    `standing` is in the order of recall.standing. Pinned ones do not count as items; see for_prompt for the rest.
    """
    budget = int(min(config.max_context_tokens, config.max_tokens_per_session - spent_tokens) * share)
    room = _Room(items=config.max_items_per_load, tokens=budget)
    pinned_room = _Room(items=len(standing), tokens=min(PINNED_TOKENS, budget))
    taken = _Taken({})
    considered = []
    left_out = 0
    everything = {item.id for item in standing}
    last, own = _last_time(standing), _of_user(standing)
    for item in sorted(standing, key=lambda item: _stage(item, last, own)):
        reason = _against(item, given, known) or _outdated(item, everything) or _older_progress(item, last)
        if not reason and item.pinned:
            reason = pinned_room.refuses(item) or room.refuses(item, counted=False)
            left_out += bool(reason)
        reason = reason or ("" if item.pinned else room.refuses(item)) or taken.repeats(item)
        considered.append(_considered(item, reason, "pinned" if item.pinned else "standing"))
        if not reason:
            room.charge(item, counted=not item.pinned)
            if item.pinned:
                pinned_room.charge(item)
            taken.add(item)
    return _selection(taken.items, considered, room.used_tokens, left_out, last)


_OVERHEAD_TOKENS = estimate_tokens(HEAD) + 24
_OVERHEAD_UTF16 = len(HEAD) + 300


class _Room:
    """What is left of a budget."""

    def __init__(self, items: int, tokens: int) -> None:
        self.items = items
        self.tokens = tokens - _OVERHEAD_TOKENS
        self.utf16 = MAX_UTF16 - _OVERHEAD_UTF16
        self.used_tokens = 0
        self._sizes: dict[int, tuple[int, int]] = {}

    def refuses(self, item: Scored, *, counted: bool = True) -> str:
        """Why there is no room for an item, else ''."""
        if counted and self.items <= 0:
            return "enough items"
        tokens, length = self._size(item)
        if tokens > self.tokens:
            return "over the token budget"
        return "too long" if length > self.utf16 else ""

    def charge(self, item: Scored, *, counted: bool = True) -> None:
        """Use up what an item costs."""
        tokens, length = self._size(item)
        self.items -= counted
        self.tokens -= tokens
        self.utf16 -= length
        self.used_tokens += tokens

    def _size(self, item: Scored) -> tuple[int, int]:
        if (known := self._sizes.get(item.seq)) is None:
            known = self._sizes[item.seq] = size(item)
        return known


class _Taken:
    """The items chosen so far. vectors: by seq, of those that have one."""

    def __init__(self, vectors: Mapping[int, NDArray[Any]]) -> None:
        self.items: list[Scored] = []
        self._vectors = vectors
        self._words: dict[int, frozenset[str]] = {}

    def add(self, item: Scored) -> None:
        self.items.append(item)

    def repeats(self, item: Scored) -> str:
        """Whether one of them says the same as `item`; which, else ''."""
        for other in self.items:
            if self._same(item, other):
                return f"says the same as {other.handle or other.id[:SHORT_ID]}"
        return ""

    def _same(self, a: Scored, b: Scored) -> bool:
        """Nearly one vector or one set of words, and no number that only one of them has."""
        one, two = self._vectors.get(a.seq), self._vectors.get(b.seq)
        by_words = one is None or two is None
        if one is not None and two is not None and float(one @ two) < SAME:
            return False
        words_a, words_b = self._words_of(a), self._words_of(b)
        if by_words and len(words_a & words_b) < SAME_WORDS * max(1, len(words_a | words_b)):
            return False
        return not any(char.isdigit() for word in words_a ^ words_b for char in word)

    def _words_of(self, item: Scored) -> frozenset[str]:
        if (known := self._words.get(item.seq)) is None:
            known = self._words[item.seq] = frozenset(segment.terms(item.content))
        return known


def _against(item: Scored, given: Collection[str], known: Known | None) -> str:
    if item.id in given:
        return "given before in this session"
    if known is not None and known(item):
        return "in CLAUDE.md or Claude's own notes"
    return ""


def _outdated(item: Scored, fitting: Collection[str]) -> str:
    """Of two that contradict each other the newer one speaks; the older only where that one does not fit at all."""
    return "conflict: a newer one says otherwise" if any(other in fitting for other in item.newer) else ""


def _older_progress(item: Scored, last: Collection[str]) -> str:
    progress = item.type in (Type.PROGRESS, Type.SUMMARY) and not item.pinned
    return "older progress" if progress and item.id not in last else ""


def _last_time(standing: Sequence[Scored]) -> set[str]:
    """The ids that tell where work stopped: the best-placed progress and summaries."""
    progress = [item.id for item in standing if item.type in (Type.PROGRESS, Type.SUMMARY)]
    return set(progress[:PROGRESS_ITEMS])


def _of_user(standing: Sequence[Scored]) -> set[str]:
    """The ids of the user's own first preferences and facts."""
    own = [item.id for item in standing if item.scope == Scope.USER and item.type not in (Type.PROGRESS, Type.SUMMARY)]
    return set(own[:USER_ITEMS])


def _stage(item: Scored, last: Collection[str], own: Collection[str]) -> int:
    """The order of session start; where work stopped comes before the bulk, so that a full project cannot crowd it out."""
    if item.pinned:
        return 0
    if item.id in own:
        return 1
    return 2 if item.id in last else 3


def _considered(item: Scored, reason: str, why: str) -> Considered:
    return Considered(
        memory=item.id, score=round(item.score, 4), similarity=round(item.similarity, 4), given=not reason,
        reason=reason or why,
    )  # fmt: skip


def _selection(
    taken: Sequence[Scored], considered: Sequence[Considered], tokens: int, left_out: int, last: Collection[str]
) -> Selection:
    by_group: dict[str, list[Scored]] = {name: [] for name in GROUPS}
    for item in taken:
        by_group[_group(item, last)].append(item)
    groups = tuple(Group(name, tuple(items)) for name, items in by_group.items() if items)
    noted = [entry for entry in considered if entry.given]
    noted += [entry for entry in considered if not entry.given][:CONSIDERED]
    return Selection(groups, tuple(noted), tokens + _OVERHEAD_TOKENS if taken else 0, left_out)


def _group(item: Scored, last: Collection[str]) -> str:
    if item.pinned:
        return "pinned"
    if item.id in last:
        return "last time"
    return {Scope.USER: "user", Scope.PROJECT: "project", Scope.ORG: "team"}[item.scope]
