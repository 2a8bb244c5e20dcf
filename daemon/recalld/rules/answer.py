"""What the assistant's answer found out."""

from __future__ import annotations

import re
from dataclasses import replace

from recalld.model import Candidate, Origin, Turn, Type
from recalld.rules import rewrite, vetoes
from recalld.rules.judge import Judge
from recalld.rules.languages import table_of
from recalld.rules.split import Sentence, sentences, size
from recalld.rules.split import bare as blank
from recalld.rules.tags import tags_of

_SEARCHING = re.compile(
    r"\b(?:why|how come|root cause|cause of|causes|reason for|debug|investigate|find out|"
    r"figure out|what (?:made|makes|caused|causes|breaks|broke|keeps|is causing)|what(?:'s| is| was| went) wrong|what happened|what broke|any ideas?|(?:is|are) (?:it|this|that|the [\w -]{2,30}) (?:broken|faulty|dead|buggy|a bug|wrong)|warum|wieso|por qué|"
    r"pourquoi)\b|\b(?:nothing|not|n't|stopped|never) (?:work|working|come|comes|happens|arrives?|"
    r"responds?|responding|loads?|starts?|connects?|shows?)\b|为什么|为啥|怎么回事|咋回事|原因|"
    r"排查|怎么.{1,12}(?:了|不)[？?]|なぜ|どうして|原因"
)
_REPORT = re.compile(  # of work done: true today, of no use later
    r"^(?:(?:i|i've|i have|we|so|fixed|done|fix|now|also|then)[,: ]+)*(?:just |also |now |have |"
    r"already )*(?:added|fixed|created|changed|removed|deleted|renamed|updated|moved|replaced|set|"
    r"switched|rewrote|converted|wrote|ported|opened|committed|reverted|installed|refactored|"
    r"applied|implemented|made|cleaned|split|extracted|recreated|restored|regenerated|wrapped|"
    r"pinned|capped|bumped|increased|lowered|raised|cleared|ran|tested|checked|looked|tagged|"
    r"pushed|merged)\b|\bnow (?:uses?|returns?|stops?|runs?|passes|works|shows?|has|reads?|"
    r"writes?|validates?)\b|\b(?:tests?|suite|build|ci|lint) (?:all )?(?:pass|passes|passed|"
    r"is green|are green|runs?)\b|^(?:已|我(?:已|把|将|加|改|新增|用)|改为|修复|新增|现在)|"
    r"已(?:改|修|加|删|更新|替换)"
)
_AT_HAND = re.compile(
    r"\b(?:any (?:idea|clue)|the|my|our|this|that|these|those|it|we|i|us|nothing|here)\b|[`_/]|\w\.\w"
)
_ADVICE = re.compile(
    r"^(?:you|your|i'd|i would|i recommend|consider|try|note that|remember|make sure|let me|"
    r"if you|please|should|always|never|do not|don't|we should|建议|请|可以|您|你|如果|需要我|"
    r"注意|记得)\b|\?|？|\b(?:i'll|i will|shall i|let me know|in general|typically|usually|"
    r"generally|normally|rule of thumb|would|could|should|may|might|recommend)\b|一般|通常|"
    r"可以考虑|建议"
)
_CAUSE = re.compile(
    r"^after (?:some |a bit of )?(?:bisecting|debugging|digging|tracing|profiling|comparing)|"
    r"(?:although|even though|but|while) (?:the|its) (?:datasheet|docs|documentation|manual|spec|"
    r"readme) (?:says?|claims?|states?)|\b(?:root cause|the (?:actual |real )?(?:cause|culprit)|"
    r"cause found|(?:was|is|were|are) caused by|turn(?:s|ed) out)\b|根本原因|根因|原因(?:是|：|找到)|查明|罪魁|原因は|ursache|"
    r"la causa|causa raíz"
)
_SURE = 0.75  # of the classifier
_MOST = 2  # sentences of an answer that are worth keeping


def from_answer(turn: Turn, judge: Judge) -> list[Candidate]:
    """Lessons and facts that the assistant established. Its advice, plans, offers and reports of work are not kept."""
    wanted = any(_asks_for_cause(one) for one in sentences(turn.prompt))
    said = sentences(turn.answer)
    opinions = judge.opinions([(one.text, one.before) for one in said], assistant=True)
    found: list[tuple[float, Candidate]] = []
    for one, opinion in zip(said, opinions, strict=True):
        table = table_of(one.lang)
        outright = _CAUSE.search(one.bare) is not None
        if not outright and (
            not wanted or opinion.keep is None or opinion.keep < _SURE or opinion.type not in (Type.LESSON, Type.FACT)
        ):
            continue
        if (
            _ADVICE.search(one.bare)
            or _REPORT.search(one.bare)
            or table.hedge.search(one.bare)
            or table.unsure.search(one.bare)
            or table.temporary.search(one.bare)
            or size(one.text) < 5
        ):
            continue
        if outright and opinion.keep is not None and opinion.keep < (0.1 if wanted else 0.3):
            continue
        given = vetoes.Statement(one.text, one.bare, one, table, cut=False)
        content = rewrite.content(_whole(given, turn.answer))
        if content:
            found.append(
                (
                    opinion.keep or 0.5,
                    _candidate(content, Type.LESSON if outright else opinion.type or Type.LESSON, turn),
                )
            )
    found.sort(key=lambda pair: -pair[0])
    return [candidate for _, candidate in found[:_MOST]]


def _whole(given: vetoes.Statement, answer: str) -> vetoes.Statement:
    """With what stands in front of a semicolon: the second half of a finding seldom holds alone."""
    whole = f"{given.sentence.before}; {given.text}"
    if whole not in answer or given.language.dangling.search(blank(whole)):
        return given
    return replace(given, text=whole, bare=blank(whole))


def _asks_for_cause(one: Sentence) -> bool:
    """A question after the cause of something at hand, not of how the world works."""
    at_hand = one.lang != "en" or _AT_HAND.search(one.bare) is not None
    return at_hand and _SEARCHING.search(one.bare) is not None and not table_of(one.lang).temporary.search(one.bare)


def _candidate(content: str, type_: Type, turn: Turn) -> Candidate:
    return Candidate(
        content=content,
        type=type_,
        confidence=0.7,
        origin=Origin.ASSISTANT,
        tags=tags_of(content),
        prompt_id=turn.prompt_id,
    )
