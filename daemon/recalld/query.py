"""What a prompt asks the memory for: the words that matter in it, and what kind of prompt it is.

Prompts are typed in a hurry, pasted by the page, or say no more than "yes do it". The words a person typed count
fully, those of pasted logs, frames and tables count less, and numbers and hashes of one run not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from recalld import segment

MAX_PROMPT_CHARS = 20_000
"""Of a longer prompt the first and the last half of this are looked at: the wish stands before or after the paste."""
LINE_CHARS = 300
"""So much of a line tells whether a program wrote it."""
MAX_VECTOR_CHARS = 1_500
MAX_WORDS = 64
PASTED = 0.5
"""Weight of a word that stands only in pasted lines."""
NAME = 0.3
"""Weight of the project's own name: nearly every memory of the project could hold it."""
SLIGHT = 0.4
"""Weight of what is hardly a word: one Chinese character, a pair with a particle in it, a number of one or two digits."""
IN_PATH = 0.6
"""Weight of a word that stands only in a path."""


class Query(msgspec.Struct, frozen=True):
    """A prompt as the ranking sees it.

    text: what the vector is made of. words: what full text looks for, each with its weight, 0..1.
    status: asks where work stands. trouble: reports that something fails. change: wants something built or changed.
    general: asks for common knowledge, not for this project's. since, until: the time it speaks of, if it does.
    """

    text: str = ""
    words: dict[str, float] = {}
    status: bool = False
    trouble: bool = False
    change: bool = False
    general: bool = False
    since: datetime | None = None
    until: datetime | None = None

    @property
    def silent(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.words and not self.status

    @property
    def bare(self) -> bool:
        """Whether it asks where work stands and names hardly any subject."""
        return self.status and len(self.words) <= 1


_EASY = re.IGNORECASE | re.MULTILINE
_STATUS = re.compile(
    r"\b(where (did|were|are|was) (we|i|it|things)( (stop|stopped|leave|end|get to|stand)( off)?)?\b|left off|leave off|pick up where"
    r"|what('s| is| are| was)? (still )?(next|left|open|missing|remaining|pending|outstanding)\b"
    r"|still (missing|open|to do|left|pending|outstanding)|status (of|on)|progress (of|on|so far)|how far (are|is|did|along)"
    r"|to-?do list|next steps?|next on the list|what did (we|i|you) (do|finish|change)|did we (finish|stop|complete)"
    r"|wo (waren|sind|stehen) wir|wie weit|stand der dinge|nächste schritte|où en)"
    r"|(上[次回]|昨天|今天|现在)?(我们|咱们)?(做|弄|写|进行)?到哪(里|儿|一?步|了)+|进度|进展|还(差|剩|缺|有)(什么|哪|多少|啥)|没做完|下一步|接下来(做|干)"
    r"|残って|残り|どこまで|進捗|次は(何|なに)",
    _EASY,
)
_TROUBLE = re.compile(
    r"error|exception|traceback|panic|\b(fail(s|ed|ing|ure)?|br(oke|oken|eaks)|crash(es|ed)?|hangs?|stuck|wrong|bugs?|flaky"
    r"|(does|do|did|is|was|can|won|are)n?'?t|cannot|not (work|found|able|start|load)\w*|time[sd]? out|timeouts?|denied|refused"
    r"|reject(s|ed)|los(t|es|ing)|missing|empty|garbage|corrupt\w*|slow|abort(s|ed)?|doubled?s?|twice|duplicated?|jumps?|drifts?|leaks?"
    r"|keeps?|still (show|get|see|happen)\w*|instead of|why|[45]\d\d|geht nicht|kaputt|fehler|warum|falla|erreur|pourquoi)\b"
    r"|报错|错误|失败|不对|不了|没了|不出|不到|为什么|怎么(会|又|还)|崩|卡|太?慢|丢|超时|空的|空白|异常|被?拒|重复|エラー|動かない|なぜ|失敗",
    _EASY,
)
_GENERAL = re.compile(
    r"\b(what('s| is| are|s)? the (difference|syntax|short|meaning|point of|best way to learn)|difference between|explain\b|\bvs\.?\b"
    r"|how (do|does|would) (you|one|i|we) (say|exit|spell|pronounce|quit)|translate|what (does|do) \S+( \S+){0,5} (do|mean|stand for)"
    r"|what (is|are) an? |meaning of|define\b|definition of|how much is|convert \S+ \S+ (to|into)|syntax (of|for)|poem|limerick|joke|recipe|lyrics"
    r"|was bedeutet|unterschied zwischen|erklär)"
    r"|什么意思|是什么$|区别|讲讲|讲一下|解释|翻译|怎么说|怎么读|规则是|介绍一下|科普|とは|違い|意味",
    _EASY,
)
_CHANGE = re.compile(
    r"\A\W*((please|pls|can you|could you|let'?s|let us|i want to|i need to|i'd like to|we need to|we should|now|then|also|ok|and)[ ,]+)*"
    r"(add|write|create|make|implement|build|new|update|change|rename|refactor|move|publish|set ?up|configure|migrate|replace|remove|delete"
    r"|generate|use|switch|extend|backfill|join|introduce|expose|store|show|support|draft|design|scaffold|port|convert|split|extract|wire)\b"
    r"|\A\W*(请|帮我|给|把|将|加(?![密载速班粗])|写|新建|新增|改|做|实现|换|增加|添加|创建|更新|删|重构|迁移|支持|生成)",
    _EASY,
)
_YESTERDAY = re.compile(r"\byesterday\b|昨天|昨日|gestern\b", re.IGNORECASE)
_TODAY = re.compile(r"\btoday\b|今天|今日|heute\b", re.IGNORECASE)
_LAST_WEEK = re.compile(r"\blast week\b|上周|上星期|先週", re.IGNORECASE)
_THIS_WEEK = re.compile(r"\bthis week\b|这周|本周|今週", re.IGNORECASE)
# What goes on with or closes a talk without a subject; with stop words it makes a prompt that asks for nothing.
_TALK_WORDS = """
continue proceed resume carry commit push nice great cool perfect good lgtm fine thanks thx ty lol
haha next again stop wait undo retry done yep yup nope sure approved approve agreed agree correct
exactly awesome sounds looks works hi hello bye lunch later tomorrow morning night please sorry wow
hmm weiter ja nein danke gut mach genau sí gracias oui merci vale 继续 好的 可以 谢谢 多谢 是的 对的 没错 行吧 开始 接着
嗯嗯 好吧 就这样 没问题 不用 不是 辛苦 明白 收到 同意 确认 はい いいえ 続けて 続き お願い ありがとう 了解 네 계속
"""
_CLOCK_WORDS = """
second seconds sec minute minutes min hour hours day days week weeks month months year years today
tonight yesterday ago since first last time times two three 秒 分钟 小时 今天 昨天 明天 时候 一下 现在 已经 那个 这个 什么 怎么
为什么 东西 问题 办法
"""
_TALK = frozenset(_TALK_WORDS.split())
_CLOCK = frozenset(_CLOCK_WORDS.split())
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PATH = re.compile(r"[^\s/]{0,80}(?:/[^\s/]{1,80})+")
_SIGNS = (
    (re.compile(r"(?:^|\s)--[a-z]"), "flag"),
    (re.compile(r"[._-](spec|test)\.\w|\btest_\w+\.py|_test\.go"), "test"),
)
"""What the form of a word tells: `--tile-size` is a flag, `cart.spec.ts` a test."""
_FENCE = re.compile(r"^\s*(```|~~~)")
# Lines that a program wrote: frames, log lines, table rows, shell prompts.
_FRAME = re.compile(
    r"^\s*(File \"[^\"]*\", line \d+|at .*[(:]\S*:\d+|#\d+ 0x|\d+: \S+::|[|+=>]|\.{3}|\^+|from /|goroutine \d)",
    re.IGNORECASE,
)
_FOREIGN = re.compile(r"site-packages|node_modules|dist-packages|/usr/lib|<frozen|rustc/|/go/pkg/")
_PASTE = re.compile(
    r"^\s*([$#>%]\s|\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|[A-Z]+ +[A-Z]+( +[A-Z]+)+$|[EWID] \(\d+\)|(INFO|WARN|DEBUG|ERROR)\b)"
    r"|\S {2,}\S.* {2,}\S"
)
# Of one run only: hashes, uuids, long numbers, times, encoded blobs.
_ONCE = re.compile(
    r"\b0x[0-9a-f]{5,}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-f]*\d)[0-9a-f]{7,64}\b|\b\d{6,}\b"
    r"|\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?\S*)?|\b\d\d?:\d\d:\d\d(\.\d+)?|[A-Za-z0-9+/=_-]{48,}|\?\S+=\S+",
    re.IGNORECASE,
)


def build(prompt: str, previous: str = "", now: datetime | None = None) -> Query:
    """The query for `prompt`.

    previous: the session's last prompt and answer; asked in its place where the prompt itself only goes on.
    now: what "yesterday" is counted from.
    """
    own, pasted = _parts(prompt)
    words = _weighed(own, pasted)
    if not words and previous:
        own, pasted = _parts(previous)
        words = _weighed(own, pasted)
    asked = _cut(own, 4_000)
    since, until = _time(asked, now) if now else (None, None)
    text = "\n".join(part for part in (own, pasted) if part)
    return Query(
        text=_cut(text, MAX_VECTOR_CHARS),
        words=words,
        status=bool(_STATUS.search(asked)),
        trouble=bool(_TROUBLE.search(_cut(text, 4_000))),
        change=bool(_CHANGE.search(asked)),
        general=bool(_GENERAL.search(asked)) and not _TROUBLE.search(asked),
        since=since,
        until=until,
    )


def inside(query: Query, projects: Iterable[str]) -> Query:
    """`query` as it is asked inside projects of these names, whose words say little there."""
    names = {word for project in projects for word in segment.terms(project)}
    known = {word for word in query.words if any(name == word or (len(name) > 3 and name in word) for name in names)}
    if not known:
        return query
    words = {word: min(weight, NAME) if word in known else weight for word, weight in query.words.items()}
    return msgspec.structs.replace(query, words=words)


def _parts(prompt: str) -> tuple[str, str]:
    """What the person typed, and what was pasted, without the noise of a single run."""
    text = _ONCE.sub(" ", _ANSI.sub("", _cut(prompt, MAX_PROMPT_CHARS)))
    own: list[str] = []
    pasted: list[str] = []
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif (frame := _FRAME.match(line[:LINE_CHARS])) and _FOREIGN.search(line):
            continue
        elif fenced or frame or _PASTE.search(line[:LINE_CHARS]):
            pasted.append(line)
        elif line.strip():
            own.append(line)
    return "\n".join(own), "\n".join(pasted)


def _weighed(own: str, pasted: str) -> dict[str, float]:
    """The words to look for; none where the text only goes on with the talk."""
    typed = segment.terms(_STATUS.sub(" ", own), MAX_WORDS)
    outside = set(segment.terms(_PATH.sub(" ", own), 4 * MAX_WORDS) if _PATH.search(own) else typed)
    words = {word: 1.0 if word in outside else IN_PATH for word in typed if word not in _CLOCK}
    if len(typed) <= 8 and all(word in _TALK or word in _CLOCK or _talked(word, own) for word in typed):
        words = {}
    for sign, word in _SIGNS:
        if words and sign.search(own):
            words.setdefault(word, IN_PATH)
    for word in segment.terms(pasted, MAX_WORDS):
        if word not in _CLOCK:
            words.setdefault(word, PASTED)
    return {word: weight * _worth(word) for word, weight in list(words.items())[:MAX_WORDS]}


def _worth(word: str) -> float:
    """How much a word says by its form."""
    if word.isascii():
        return SLIGHT if word.isdigit() and len(word) < 3 else 1.0
    return SLIGHT if len(word) == 1 or any(char in segment.PARTICLES for char in word) else 1.0


def _talked(word: str, own: str) -> bool:
    """Whether a piece of Chinese or Japanese stands only inside one of the words of talk."""
    if word.isascii():
        return False
    rest = own
    for phrase in _TALK:
        if not phrase.isascii():
            rest = rest.replace(phrase, " ")
    return word not in rest


def _time(text: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The time that a question about the state of work speaks of, by the owner's own days."""
    # Without a zone until the end: a day is 23 or 25 hours long where the clock is changed.
    day = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    monday = day - timedelta(days=day.weekday())
    for pattern, since, until in (
        (_YESTERDAY, day - timedelta(days=1), day),
        (_TODAY, day, None),
        (_LAST_WEEK, monday - timedelta(days=7), monday),
        (_THIS_WEEK, monday, None),
    ):
        if pattern.search(text):
            return since.astimezone(UTC), until.astimezone(UTC) if until else None
    return None, None


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]}\n{text[-limit // 2 :]}"
