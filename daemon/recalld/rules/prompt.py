"""What the person's own sentences say."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from recalld.model import Candidate, Scope, Type
from recalld.rules import revoke, rewrite, vetoes, weigh
from recalld.rules.judge import Judge, Opinion
from recalld.rules.languages import table_of
from recalld.rules.split import Sentence, sentences, size
from recalld.rules.table import Cue, Language
from recalld.rules.tags import tags_of
from recalld.rules.vetoes import Statement

_INTRODUCES = re.compile(
    r"(?:plan|steps|requirements|tasks|mail|message|letter|review|reviewer|comment|says?|said|wrote|writes|following|below|"
    r"handbook|guide|article|page|quote|log|logs|output|error|snippet|text|docs?|readme|spec|"
    r"ticket|issue|transcript|dialogue?|story|scene|like this|goes like|原文|报错|日志|邮件|如下|"
    r"下面|内容|客户|文档|截图|消息|评论|写道|写着|说)[^:：]{0,40}[:：]$|^(?:the following|"
    r"let me paste|here(?:'s| is| are) (?:one of |an? |the |my |some )(?:\w+ ){0,3}(?:mails?|"
    r"reviews?|quotes?|texts?|messages?|snippets?|notes?|logs?|tickets?|transcripts?))\b"
)
_ABOUT_PASTE = re.compile(
    r"^(?:hey |ok |so |and )*(?:what(?:'s| is| does| do)|who wrote|is|are|does) (?:this|that|these|the following)\b.{0,60}\?$|"
    r"^(?:tl;?dr|thoughts|wdyt)[?:]*$|^(?:这|下面|以下).{0,16}(?:什么|啥|对吗|意思).{0,6}[？?]?$"
)
_PASTED = 40  # sentences; a prompt with more was not typed
_HEADING = 5  # words
_SHORT_RULE = 5  # words
_ORDERED_SURE = 0.85
_CERTAIN = 0.9  # a surer cue is not looked for
_VOICE = re.compile(
    r"\b(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|prefer)\b|\bfrom now on\b|我们(?:决定|"
    r"定了)|以后|今后"
)
_ADDRESSED = re.compile(  # said to the assistant, also below a paste; "please note" may be part of it
    r"\b(?:remember|don't forget|do not forget|recuerda|no olvides)\b|\bmerk(?:e)? dir\b|记住|记一下|记好|别忘|覚えて"
)
_LOCAL = re.compile(  # "remember that i starts at 1": about the code in front of both, not for later
    r"(?:^|that |[:,] )(?:[a-z]|the (?:loop|index|counter|argument|parameter|variable|"
    r"cursor)) (?:is|can|may|starts?|ends?|counts?|must|has)\b|\bin this (?:function|loop|method|"
    r"line|snippet|branch|block|case)\b|上面的(?:输出|代码|结果)|这(?:个|段)?(?:函数|循环|方法|"
    r"代码)|don't forget the (?:semicolon|comma|bracket|import|return)\b"
)
_SUPPOSES = re.compile(
    r"^(?:ok |so |well |as a thought experiment,? )*(?:let's |let us |just )?(?:imagine|suppose|"
    r"assume|pretend|what if)\b|^(?:假设|假如|设想|想象)"
)


@dataclass
class _Flow:
    """What earlier sentences say about the later ones of the same text.

    foreign: what follows is somebody else's, or to be written. supposed: an invented situation, until the paragraph
    ends. asked: the paragraph of a question about what is pasted below. header: the cue of a heading (`Conventions:`), for the lines up to the paragraph `below`.
    """

    pasted: bool
    foreign: bool = False
    supposed: int = -1
    header: Cue | None = None
    below: int = -2
    asked: int = -1

    def passes(self, one: Sentence, language: Language) -> bool:
        """Takes `one` in; whether it can be a statement of the person's own."""
        if one.text.endswith((":", "：")) and size(one.text) <= _HEADING:
            self.header, self.below = vetoes.best_cue(one.bare, language), one.paragraph + 1
            if self.header:
                return False
        if one.paragraph > self.below:
            self.header = None
        self.below = min(self.below, one.paragraph)
        if _ABOUT_PASTE.search(one.bare):
            self.asked = one.paragraph
        self.foreign = self.foreign or -1 < self.asked < one.paragraph
        if language.generated.search(one.bare) or _INTRODUCES.search(one.bare):
            self.foreign = True
            return False
        if _SUPPOSES.search(one.bare):
            self.supposed = one.paragraph
        if self.supposed == one.paragraph:
            return False
        return not self.pasted or _spoken_up(one, language)


def _spoken_up(one: Sentence, language: Language) -> bool:
    """In a long paste only what is unmistakably the person's own."""
    found = vetoes.best_cue(one.bare, language)
    return _VOICE.search(one.bare) is not None or (found is not None and found.explicit)


def from_text(text: str, judge: Judge, prompt_id: str) -> list[Candidate]:
    """The candidates in what the person wrote."""
    said = sentences(text)
    opinions = judge.opinions([(rewrite.spoken(one.text, one.bare, table_of(one.lang)), one.before) for one in said])
    flow = _Flow(pasted=len(said) > _PASTED)
    kept: list[_Kept] = []
    for place, (one, opinion) in enumerate(zip(said, opinions, strict=True)):
        language = table_of(one.lang)
        if flow.passes(one, language) and (found := _one(one, language, opinion, flow)):
            kept.append(_Kept(found, place, one.paragraph))
    return [_finished(one.candidate, prompt_id) for one in _joined(_replacing(kept, said))]


def _replacing(kept: list[_Kept], said: list[Sentence]) -> list[_Kept]:
    """`Kill the polling. We use webhooks instead.`: the order in front names what the statement replaces."""
    return [
        _Kept(msgspec.structs.replace(one.candidate, revokes=gone), one.place, one.paragraph)
        if one.candidate.replaces and not one.candidate.revokes and (gone := revoke.ordered_away(said, one.place))
        else one
        for one in kept
    ]


def _one(one: Sentence, language: Language, opinion: Opinion, flow: _Flow) -> Candidate | None:
    given = vetoes.statement(one, language)
    found = _cue(given) or flow.header
    if found and found.explicit and _LOCAL.search(given.bare):
        found = None
    if flow.foreign and not (found and (_ADDRESSED.search(given.bare) or found.scope is Scope.USER)):
        return None
    if vetoes.dropped(given, found, opinion.keep or 0):
        return None
    if names := revoke.exchanged(one):
        return _exchange(*names)
    if revoke.is_directive(given):
        left = revoke.rest(given)
        found = vetoes.best_cue(left.bare, language) if left else None
        return _candidate(left, found, opinion, found.sure) if left and found else _given_up(one, language)
    sure = weigh.sureness(given, found, opinion)
    return (sure and _candidate(given, found, opinion, sure)) or _given_up(one, language)


def _cue(given: Statement) -> Cue | None:
    """The surest cue, with or without the chatter in front; some cues only hold at the beginning."""
    found = vetoes.best_cue(given.bare, given.language)
    if found and found.sure >= _CERTAIN:
        return found
    inner = vetoes.best_cue(rewrite.stripped(given), given.language)
    return max((one for one in (found, inner) if one), key=lambda one: one.sure, default=None)


def _candidate(given: Statement, found: Cue | None, opinion: Opinion, sure: float) -> Candidate | None:
    content = rewrite.content(given)
    if size(content) < (2 if (found and found.sure >= 0.9) or (opinion.keep or 0) >= 0.9 else 3):
        return None
    type_, revoked = weigh.kind(given, found, opinion), revoke.named(given)
    return Candidate(
        content=content,
        type=type_,
        scope=weigh.scope(content, given, found, type_, opinion),
        confidence=round(sure, 2),
        revokes=revoked,
        replaces=bool(revoked) or given.language.changed.search(given.bare) is not None,
        explicit=found is not None and found.explicit,
    )


def _exchange(gone: str, now: str) -> Candidate:
    """`drop Sidekiq, use Oban`."""
    content = f"Use {now} instead of {gone}."
    return Candidate(content=content, type=Type.DECISION, confidence=_ORDERED_SURE, revokes=gone, replaces=True)


def _given_up(one: Sentence, language: Language) -> Candidate | None:
    """Nothing to store, yet something to drop."""
    revoked = revoke.alone(one, language)
    if not revoked:
        return None
    return Candidate(content="", type=Type.DECISION, confidence=0.8, revokes=revoked, replaces=True)


@dataclass(frozen=True)
class _Kept:
    """A candidate on its way, with the place of its sentence."""

    candidate: Candidate
    place: int
    paragraph: int


def _joined(kept: list[_Kept]) -> list[_Kept]:
    """A sentence that leans on the one before swallows it; reports of progress, and a lesson and its rule, become one."""
    joined: list[_Kept] = []
    for one in kept:
        last = joined[-1] if joined else None
        content = _together(last, one) if last and one.place == last.place + 1 else ""
        if last and content:
            joined[-1] = _Kept(msgspec.structs.replace(last.candidate, content=content), one.place, one.paragraph)
        else:
            joined.append(one)
    return joined


def _together(last: _Kept, one: _Kept) -> str:
    """The text of both, or "" where they stay apart."""
    first, second = last.candidate, one.candidate
    if not first.content or not second.content:
        return ""
    if second.content.startswith(first.content[:-1]):
        return second.content
    follows = first.type is Type.LESSON and second.type is Type.PREFERENCE and size(second.content) <= _SHORT_RULE
    if last.paragraph != one.paragraph or second.revokes or not (follows or first.type is second.type is Type.PROGRESS):
        return ""
    return first.content + ("" if first.content.endswith("。") else " ") + second.content


def _finished(one: Candidate, prompt_id: str) -> Candidate:
    return msgspec.structs.replace(one, tags=tags_of(one.content), prompt_id=prompt_id)
