"""What the person chose when the assistant asked or listed options."""

from __future__ import annotations

import re

from recalld.model import Answer, Candidate, Turn, Type
from recalld.rules import rewrite, vetoes
from recalld.rules.judge import Judge
from recalld.rules.languages import table_of
from recalld.rules.prompt import from_text
from recalld.rules.split import bare as blank
from recalld.rules.split import is_cjk, language, sentences, size
from recalld.rules.tags import tags_of

_LONGEST = 200  # characters of a question or an answer
_SHORT = 12  # words of an answer that does not name its subject
_SUBJECT = 14  # words
_OPTION_WORDS = 30
_QUESTION_HEAD = re.compile(
    r"^(?:ok(?:ay)?|so|and|also|before i start|first|quick question)?[,:. ]*(?:which|"
    r"what(?: kind of| sort of| type of)?|where|how|when|who|should (?:we|i|the)|shall (?:we|i)|"
    r"do you (?:want|prefer|need)(?: me)?(?: to)?|would you (?:like|prefer)(?: me)?(?: to)?|"
    r"welche[rsn]?|was|wo|wie|soll(?:en)?(?: wir| ich)?|qué|cuál|dónde|cómo)\s+(?:(?:is|are|"
    r"should|do|does|will|would|shall|can)\s+(?:(?:be|we|i|you|it|the|our|your)\s+)*|(?:the|our|"
    r"your|a|an)\s+)*",
    re.IGNORECASE,
)
_WHICH_CHINESE = re.compile(
    r"^(?:你|您|我们)?(?:想|要|希望|打算)?(?:用|选|采用|使用)?(?:哪个|哪种|哪一个|什么|哪些)(?=.{2,}[?？]$)"
)
_LEFT_OVER = re.compile(r"\bbe\b(?: (?=\w))?|\s(?:go|live|look|do)$", re.IGNORECASE)
_QUESTION_TAIL = re.compile(
    r"\s*(?:(?:should|do|would|shall|will|can) (?:we|i|you|it)(?: (?:use|prefer|want|like|go with|"
    r"pick|choose|have|take|need|do))?(?: (?:for this|here|now))?|(?:would|do) you (?:like|prefer|"
    r"want)(?: me to use)?|(?:用|选|采用|使用)?(?:哪个|哪种|哪一个|什么|哪些|"
    r"哪)[^?？，,]{0,4}?(?:比较)?(?:好|合适|方案)?(?:呢|吗)?|どれにしますか|はどうしますか)?\s*[?？]*\s*$",
    re.IGNORECASE,
)
_PERMISSION = re.compile(
    r"^(?:should i|shall i|may i|can i|do you want me to|would you like me to|ok to|okay to|"
    r"proceed|continue|ready|is (?:that|this|it) ok|要我|需要我|是否继续|可以继续|继续)",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^(?:y|yes|yeah|yep|ok|okay|sure|no|nope|n|go ahead|skip|later|cancel|none|other|whatever|"
    r"you (?:decide|choose|pick)|up to you|don't care|not sure|no idea|i don't know|either|是|"
    r"好的?|可以|不用?|不要|随便|都行|你定|跳过|不知道|はい|いいえ|ja|nein|sí)[.!。！]*$",
    re.IGNORECASE,
)


def from_answers(turn: Turn, judge: Judge) -> list[Candidate]:
    """What the person answered to questions of the assistant; a short answer with the question's subject in front."""
    found: list[Candidate] = []
    for one in turn.answers:
        chosen = _chosen(one)
        if chosen and size(one.answer) <= _SHORT:
            found.append(_decision(chosen, turn))
        else:
            found += from_text(one.answer, judge, turn.prompt_id) or ([_decision(chosen, turn)] if chosen else [])
    return found


def _decision(content: str, turn: Turn) -> Candidate:
    return Candidate(
        content=content,
        type=Type.DECISION,
        confidence=0.8,
        tags=tags_of(content),
        prompt_id=turn.prompt_id,
    )


def _chosen(one: Answer) -> str:
    """`Cache backend: Redis` of "Which cache backend?" and "Redis"; "" where that would not be a decision."""
    question, answer = one.question.strip().split("\n")[-1].strip(), " ".join(one.answer.split())
    code = language(f"{answer} {question}")
    if not question or not answer or len(answer) > _LONGEST or _YES_NO.match(answer) or _PERMISSION.match(question):
        return ""
    if vetoes.unsettled(blank(answer), table_of(code)):
        return ""
    subject = _subject(question)
    return rewrite.finish(subject + ("：" if is_cjk(code) else ": ") + answer, code) if subject else ""


def _subject(question: str) -> str:
    """What `question` is about, without the words that ask; "" where it is too long to say."""
    if len(question) > _LONGEST or not (question.endswith(("?", "？")) or _QUESTION_HEAD.match(question)):
        return ""
    subject = _QUESTION_TAIL.sub("", _QUESTION_HEAD.sub("", _WHICH_CHINESE.sub("", question))).strip(" ,:：，?？")
    subject = _LEFT_OVER.sub("", subject).strip()
    return subject if 1 <= size(subject) <= _SUBJECT else ""


_OPTION = re.compile(
    r"(?:^|(?<=[\s.;；。，,(（:：]))(?:(?:option|variant|choice|plan|approach)\s+|方案|选项|"
    r"オプション)?\(?(?P<key>[a-dA-D]|[1-6]|[一二三四五六])(?:[).:、：]|"
    r"\s*[-–—:：])\s*(?P<text>.+?)(?=(?:[.;；。\n]\s*(?:(?:option|variant|choice|plan|"
    r"approach)\s+|方案|选项|オプション)?\(?(?:[a-dA-D]|[1-6]|[一二三四五六])(?:[).:、：]|"
    r"\s*[-–—:：]))|\s+[1-6][.)]\s|\.(?=\s|$)|[。\n]|$)",
    re.IGNORECASE,
)
_PICK = re.compile(
    r"^(?:ok(?:ay)?|yes|then|hm+|let's|lets|well|那就|那|就|嗯|好)?[, ，]*(?:(?:go (?:with|for)|"
    r"take|use|do|i(?:'d)? (?:say|prefer|pick|choose|go with|take)|we(?:'ll)? (?:take|go with|do)|"
    r"选|用|走|上)\s*)?(?:the )?(?:option|variant|choice|plan|number|方案|选项|"
    r"第)?\s*(?P<key>[a-d]|[1-6]|[一二三四五六]|first|second|third|fourth|last)(?:个| one| option|"
    r"号)?(?:就?(?:够|行|可以)了?)?(?P<rest>(?:吧|。|\.|,|，|!|！|;|；|\s+(?:because|since|please|as|it|then)|\s*[-–—]|"
    r"$).*)$",
    re.IGNORECASE | re.DOTALL,
)
_ORDINAL = {"first": 0, "second": 1, "third": 2, "fourth": 3, "一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5}


def from_pick(turn: Turn) -> list[Candidate]:
    """`B.` or `第二个吧` after the assistant listed options: the option's text, with its subject and the reason given."""
    picked = _PICK.match(turn.prompt.strip()) if turn.context and len(turn.prompt) < _LONGEST else None
    option = _option(picked["key"].lower(), turn.context) if picked else ""
    if not picked or not option:
        return []
    code = language(turn.prompt + option)
    reason = re.split(r"[.!?。！？\n]", picked["rest"].lstrip("吧 .。,，;；!！-–—"))[0].strip()
    if size(reason) < 3 or table_of(code).task.match(reason.lower()):
        reason = ""
    done = next((one.text.rstrip(".。") for one in sentences(turn.answer)), "")
    done = done if 3 <= size(done) <= 25 and not done.endswith((":", "：", "?", "？")) else ""
    head, mark, joint = ("选定方案", "：", "；") if code == "zh" else ("Chosen", ": ", "; ")
    told = joint.join(part for part in (option, reason, done) if part)
    content = rewrite.finish((_topic(turn.context) or head) + mark + told, code)
    return [_decision(content, turn)] if content else []


def _option(key: str, context: str) -> str:
    """The text of the option called `key` ("b", "二", "second") among those listed in `context`, or ""."""
    options = [(match["key"].lower(), match["text"].strip()) for match in _OPTION.finditer(context)]
    if len(options) < 2:
        return ""
    named = [text for mark, text in options if mark == key]
    if not named:
        place = (
            len(options) - 1 if key == "last" else _ORDINAL.get(key, int(key) - 1 if key.isdigit() else len(options))
        )
        named = [text for _, text in options[place : place + 1]]
    return named[0] if named and size(named[0]) <= _OPTION_WORDS else ""


def _topic(context: str) -> str:
    """What the options are for, where a question in front of them says so."""
    asked = re.search(r"[^.。!！\n]{4,120}[?？]", context)
    return _subject(asked[0].strip()) if asked else ""
