"""How sure a statement is, of what kind, and for whom: cues and classifier together."""

from __future__ import annotations

import re

from recalld.model import Scope, Type
from recalld.rules import vetoes
from recalld.rules.judge import Opinion
from recalld.rules.split import size
from recalld.rules.table import Cue
from recalld.rules.vetoes import Statement

# What the classifier must say (its chance that a sentence is worth keeping), by what the wording says:
_ALONE = 0.68  # nothing; whole path in cross-validation: 70 % of statements, 6.6 % of the others, half of them hard
_FAIR = 0.35
_ORDERED = 0.87  # nothing, and it sounds like an order
_STRONG = 0.1
_ASKED = 0.0  # the person asked for it
_STANDING = re.compile(
    r"\b(?:must|always|never|every|each|from now on|has to|have to)\b|必须|一律|以后|今后|"
    r"每(?!次都?卡)|禁止|不许|必ず|今後|immer|siempre"
)
_OURS = re.compile(
    r"\b(?:we|our|us|team|repo|repository|project|codebase|monorepo|company|staging|production|"
    r"prod|wir|unser\w*|projekt|nuestr\w+|proyecto|equipo)\b|我们|咱们|项目|仓库|组里|团队|公司|"
    r"プロジェクト|チーム|うち|弊社"
)
_LISTED = re.compile(  # names in a row, with nothing said of them
    r"^(?!.*\b(?:no|not|never|always|kein|sin)\b)(?:[\w./-]+(?: [\w./-]+)?, ){2,}(?:(?:and|or|und|y) )?[\w./-]+(?: [\w./-]+)?[.!]?$|"
    r"^(?:[^，,、。\s]{1,5}[，,、] ?){2,}(?:和|还有|以及)?[^，,、。\s]{1,5}[。.]?$"
)
_EVERYWHERE = re.compile(  # "in every project", "no matter which project"
    r"\b(?:in|for|across|to) (?:all|every|any|each)(?: single)?(?: of)?(?: (?:the|my))?(?: other)? projects?(?! (?:managers?|members?|leads?|files?|"
    r"folders?|director(?:y|ies)|names?|ids?|settings?|pages?|(?:of|in|under|within) (?:this|the|our))\b)(?: |[,.:;]|$)|\b(?:whatever|whichever|no matter (?:which|what)|regardless of the) project\b|"
    r"(?:不管|无论|不论|不分)(?:是)?(?:在)?(?:哪个|哪一个|什么|啥)?项目|(?:所有|全部|任何|每个|各个)(?:的)?项目(?!成员|组|经理|文件|目录|名|的(?:人|成员|经理|负责人))"
)
_IDENTITY = re.compile(r"^(?:so |hi,? |hey,? )?(?:i'm|i am|my |i use|i work)|^(?:我(?!们)|本人)")


def sureness(given: Statement, found: Cue | None, opinion: Opinion) -> float:
    """Confidence 0..1 that this is to be kept; 0 for no."""
    hedged = vetoes.hedges(given)
    if hedged > 1 or (_ordered(given, found) and (opinion.keep or 0) < _ORDERED):
        return 0.0
    if found is None:
        return 0.0 if hedged else _unprompted(given, opinion)
    if opinion.keep is not None and opinion.keep < _least(found):
        return 0.0
    return 0.5 if hedged else found.sure


def _ordered(given: Statement, found: Cue | None) -> bool:
    """It sounds like an order for now, and no cue says otherwise."""
    return vetoes.is_task(given) and not (found and (found.explicit or found.sure >= 0.9))


def _unprompted(given: Statement, opinion: Opinion) -> float:
    """Where wording says little, the classifier decides; of very short sentences it must be certain."""
    keep = opinion.keep
    if _LISTED.match(given.bare):
        return 0.0
    if keep is None or keep < _ALONE or size(given.text) < (3 if keep >= 0.95 else 4):
        return 0.0
    return 0.6 + (keep - 0.6) / 2


def _least(found: Cue) -> float:
    if found.explicit or found.sure > 0.95:
        return _ASKED
    return _STRONG if found.sure >= 0.9 else _FAIR


def kind(given: Statement, found: Cue | None, opinion: Opinion) -> Type:
    """The type: of the surest cue that names one, else the classifier's."""
    standing = _STANDING.search(given.bare) is not None
    typed = [
        cue
        for cue in given.language.cues
        if cue.type
        and cue.sure >= 0.75
        and not (standing and cue.type is Type.PROGRESS)
        and cue.pattern.search(given.bare)
    ]
    if found and found.type and found.sure >= 0.75 and not (standing and found.type is Type.PROGRESS):
        typed.append(found)  # it may hold only without the chatter in front
    if found and typed:
        return max(typed, key=lambda cue: cue.sure).type or Type.FACT
    if found and found.explicit and opinion.type is Type.LESSON and not given.language.causes.search(given.bare):
        return Type.FACT  # what is only to be remembered is no lesson without a cause
    if found and (opinion.share < 0.6 or opinion.type not in (Type.PREFERENCE, Type.LESSON)):
        return Type.FACT
    if opinion.type is None or (standing and opinion.type is Type.PROGRESS):
        return Type.FACT
    return opinion.type


def scope(content: str, given: Statement, found: Cue | None, type_: Type, opinion: Opinion) -> Scope:
    """`user` for what is about the person in any project, else `project`."""
    if _EVERYWHERE.search(given.bare) and type_ in (Type.PREFERENCE, Type.DECISION, Type.FACT):
        return Scope.USER
    ours = _OURS.search(given.bare) is not None
    if found and found.scope:
        return Scope.PROJECT if ours and type_ is Type.PREFERENCE else found.scope
    if ours or type_ in (Type.DECISION, Type.LESSON, Type.PROGRESS):
        return Scope.PROJECT
    personal = given.language.personal.search(content.lower()) is not None
    if type_ is Type.PREFERENCE and (personal or _IDENTITY.search(given.sentence.before.lower())):
        return Scope.USER
    return Scope.USER if personal and opinion.user is not None and opinion.user > 0.65 else Scope.PROJECT
