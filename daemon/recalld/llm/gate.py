"""The gate before the model: turns that can hold nothing worth keeping cost nothing.

It only stops what it knows to be empty: acknowledgements, bare commands, short questions of general interest and
short one-off requests. A language it does not know passes. Letting one through costs half a cent; stopping a
statement loses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recalld.model import Turn

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_COMMAND = re.compile(r"\s*/[\w:-]+(?:\s|$)")
_CJK = re.compile(r"[぀-ヿ㐀-鿿가-힯]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_CLAUSES = re.compile(r"[,;:，；：、—]|(?<=\w)[.!?。！？]+(?=\s*\S)| [-–] ")

# Words that carry no statement, alone or together. Chinese and Japanese ones are taken out as they stand.
_EMPTY_TEXT = """
a ahead alright and are awesome bye bravo cheers cool continue correct day dear do done excellent exactly fine for go
good got great haha hello hey hi hm hmm i it job k keep lgtm like looks lovely love lol merci me much my next nice
night now oh ok okay one perfect please proceed push pls resume right sorry sounds step sure super thank thanks that
the then this thx ty u very wait weekend well what whatever wow works y yay yeah yep yes yo you yup weiter danke ja
gut bitte genau klar mach prima gracias vale si sí bien sigue perfecto oui parfait bon continua
"""
_EMPTY_WORDS = frozenset(_EMPTY_TEXT.split())
_EMPTY_CJK = re.compile(
    r"继续|接着|好的?|可以|行|嗯|哦|谢谢|多谢|辛苦了?|不错|对的?|是的?|没问题|你好|早|了|吧|呀|啊|哈|下一步|再来|来|"
    r"はい|ありがとう(?:ございます|ございました)?|助かりました|続けて(?:ください)?|お願いします|了解(?:です)?|"
    r"네|예|감사합니다|고마워요?|계속"
)

# A question that asks about the world and says nothing of the asker's: interrogative first, one clause, short.
_ASKS = re.compile(
    r"^(?:so |and |but |ok(?:ay)? )?(?:what|which|who|when|where|why|how|is|are|does|do|did|can|could|should|would|explain|"
    r"was|wie|warum|wann|wo|welche[rs]?|kannst|qué|cómo|cuándo|dónde|por qué|quoi|comment|pourquoi|quel(?:le)?)\b",
    re.IGNORECASE,
)
_ASKS_CJK = re.compile(r"^(?:为什么|怎么|如何|什么|哪|请问|是否|どう|なぜ|何)|(?:吗|呢|么|嘛|ですか|ますか|か)[?？]?$")

# A request for one action, now. Verbs that are also nouns of conventions (commit, test, branch) are not here.
_REQUEST = re.compile(
    r"^(?:(?:please|pls|now|then|ok(?:ay)?|can you|could you|hm+) )*"
    r"(?:run|rerun|re-run|retry|try|stash|revert|undo|redo|open|show|list|print|explain|summari[sz]e|translate|fix|"
    r"look|check|read|find|search|delete|remove|rename|restart|add|create|write|draft|update|move|merge|rebase)\b",
    re.IGNORECASE,
)

# What turns any short text into a possible statement.
_OURS = re.compile(
    r"\b(?:i|i'?m|i'?ve|i'?d|my|mine|we|we'?re|we'?ve|our|ours|us|ich|wir|unser\w*|mein\w*|yo|mi|nosotros|nuestr\w*|je|nous|notre)\b|我|咱|私|僕|우리|제",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(?:always|never|only|not|no|don'?t|dont|instead|anymore|again|every|each|must|should|need|prefer|rather|without|"
    r"use|using|remember|note|fyi|because|since|until|nur|nicht|kein\w*|immer|nie|statt|siempre|nunca|solo|sólo|no|"
    r"jamais|toujours|pas|seulement)\b|不|别|只|都|必须|一律|以后|统一|记|用|要|なく|ない|必ず|今後|常に|안|항상",
    re.IGNORECASE,
)
_NAMES = re.compile(r"\d|[A-Z]{2,}|[a-z][A-Z]|(?<=\w)[._/-](?=\w)|[`@#$]")

# An answer in which a cause was found may hold a lesson, whatever was asked.
_FOUND = re.compile(
    r"root cause|because|turns? out|turned out|caused by|\b(?:cause|reason|culprit) (?:is|was|were)|due to|contrary to|"
    r"workaround|bisect|原因|因为|由于|根因|导致|ため|なぜなら|ursache|weil|liegt daran|causa (?:es|era|raíz)|porque|"
    r"debido|parce que",
    re.IGNORECASE,
)
_REQUEST_WORDS, _QUESTION_WORDS, _QUESTION_SIGNS = 8, 14, 24


def worth_asking(turns: Sequence[Turn]) -> bool:
    """Whether a model should see `turns`: True unless each of them is known to state nothing."""
    return any(_may_state(turn) for turn in turns)


def _may_state(turn: Turn) -> bool:
    if turn.answers:
        return True
    said = _FENCE.sub(" ", turn.prompt).strip()
    if _COMMAND.match(said):
        said = ""
    return not _empty(said) or bool(_FOUND.search(turn.answer))


def _empty(said: str) -> bool:
    """Whether the person's own words hold no statement."""
    words = _WORD.findall(_EMPTY_CJK.sub(" ", said))
    if all(word.lower() in _EMPTY_WORDS for word in words):
        return True
    if _OURS.search(said) or _CLAUSES.search(said) or "\n" in said:
        return False
    if _CJK.search(said):
        return bool(_ASKS_CJK.search(said)) and len(said) <= _QUESTION_SIGNS and not _NAMES.search(said)
    if said.endswith("?") or _ASKS.match(said):
        longest = _QUESTION_WORDS if said.endswith("?") else _REQUEST_WORDS
        return bool(_ASKS.match(said)) and len(words) <= longest and not _LASTING.search(said)
    requested = _REQUEST.match(said) and len(words) <= _REQUEST_WORDS
    return bool(requested) and not _LASTING.search(said)
