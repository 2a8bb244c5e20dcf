"""The small words that turn a sentence round: before and after, with and without, from and to, 先 and 再.

`Statement.atoms` leave them out or take them for one word among many, so that sentences of opposite meaning look
alike. Here each of them becomes a mark: which pair it is of, which side of it, and the words it is said of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from recalld.statement import words
from recalld.statement.atoms import HAN, stem

MOST_OF = 2
"""So many words behind (or before) a mark are what it is said of."""

# One pair a line. A "~" stands before what follows its word ("部署前"); phrases and Chinese are found anywhere.
# These shape a sentence: what it says is the other way round, or of another time, with the other one.
_FRAMES = """
before, prior to, ~之前, ~以前, ~前 | after, ~之后, ~以后, ~后
within, ~之内, ~以内, ~内 | after, ~之后, ~以后, ~后
during | before, prior to
during | after
until, till | while
with | without
from, 从 | to, into, onto, 到, 给, 向
into | out of
inside | outside
above | below
over | under
先, first of all | 再, 然后, 接着, then
by, 由, 被 |
->, =>, → |
at least, no less than, no fewer than, minimum of, >=, ≥, 至少, 最少, 不少于, 不低于, ~以上 | at most, no more than, up to, maximum of, <=, ≤, 至多, 最多, 不超过, 不多于, ~以下
more than, 超过, 多于 | less than, fewer than, 少于
only, 只, 仅 | also, 也
"""
# These are words of their own. In the subject they make another subject: the front end has its rules, the back end others.
_TRAITS = """
up | down
more | less fewer
min | max
turn on, switch on, is on, are on | turn off, switch off, is off, are off
enable, activate, 启用, 开启, 打开 | disable, deactivate, 禁用, 关闭, 停用, 关掉
allow, permit, 允许 | deny, forbid, prohibit, 禁止
accept, 接受 | reject, refuse, 拒绝
include, 包含, 包括 | exclude, 排除, 不含
sync, synchronous, 同步 | async, asynchronous, 异步
first, 第一 | last, 最后
ascending, 升序, 正序 | descending, 降序, 倒序
mandatory, required, 必填, 必须, 强制 | optional, 可选, 选填, 不必
internal, 内部, 内网 | external, 外部, 外网
public, 公开 | private, 私有
frontend, 前端 | backend, 后端
client, 客户端 | server, 服务端
input, 输入 | output, 输出
source | target
upstream, 上游 | downstream, 下游
primary, 主库 | replica, 从库
left | right
earlier, 早于 | later, 晚于
parallel, 并行 | serial, sequential, 串行
manual, 手动 | automatic, 自动
horizontal | vertical
online | offline
encrypt, 加密 | decrypt, 解密
encode | decode
lock | unlock
import, 导入 | export, 导出
upload, 上传 | download, 下载
push, 推送 | pull, 拉取
upgrade, 升级 | downgrade, 降级
scale up, 扩容 | scale down, 缩容
oldest | newest
smallest | largest
allowlist, whitelist, 白名单 | denylist, blacklist, 黑名单
"""
# What stands before these does it, what follows has it done to it.
_HAN_DIRECTED = "调用|依赖|引用|继承|覆盖|替换|代替|取代|指向|通知|监听|订阅|早于|晚于|优先于|大于|小于"
# Words in which the characters of a mark mean something else.
_HAN_WHOLE = (
    "目前|当前|提前|前面|前缀|前者|前台|后缀|后续|后者|后台|今后|往后|前后|优先|首先|内存|内容|内核|内置|国内|再次|再生"
    "|到期|达到|得到|收到|从属|由于|路由|理由|自由|只读|方向|向量|以内存|被动"
)


class Mark(msgspec.Struct, frozen=True):
    """pair: which of the pairs. side: of that pair. of: the words it is said of, stems and pairs of characters.

    trait: a word of its own; if it is said of the subject, another side makes another subject.
    """

    pair: str
    side: str
    of: frozenset[str]
    trait: bool = False


class Marks(msgspec.Struct, frozen=True):
    """The marks of a sentence, all words that it mentions, and where the marks that shape it stand in the text."""

    found: tuple[Mark, ...] = ()
    mentioned: frozenset[str] = frozenset()
    spans: tuple[tuple[int, int], ...] = ()


class _Sign(msgspec.Struct, frozen=True):
    """An entry of the tables: (pair, side) for each pair the word is of."""

    sides: tuple[tuple[str, str], ...]
    behind: bool = False
    trait: bool = False


class _Token(msgspec.Struct, frozen=True):
    """texts: the words for which it counts where a mark is said of it."""

    start: int
    end: int
    texts: frozenset[str] = frozenset()
    sign: _Sign | None = None
    stop: bool = False


def _entries(table: str, *, trait: bool) -> Iterator[tuple[str, str, str, bool, bool]]:
    for line in table.strip().splitlines():
        for side in line.split("|"):
            entries = [entry.strip() for entry in side.split(",") if entry.strip()]
            for entry in entries:
                yield entry.lstrip("~"), line, entries[0].lstrip("~"), entry.startswith("~"), trait


def _signs() -> dict[str, _Sign]:
    signs: dict[str, _Sign] = {}
    for word, pair, side, behind, trait in (*_entries(_FRAMES, trait=False), *_entries(_TRAITS, trait=True)):
        key = stem(word) if word.isascii() and word.isalpha() else word
        known = signs.get(key)
        signs[key] = _Sign((*(known.sides if known else ()), (pair, side)), behind, trait)
    return signs


_SIGNS = _signs()
_VERBS = frozenset(stem(verb) for verb in words.VERBS) | frozenset(
    stem(verb) for verb in ("invoke", "depend", "extend", "inherit", "override", "replace", "trigger", "notify", "copy", "feed")
)
_PHRASES = "|".join(
    re.escape(word) for word in sorted(_SIGNS, key=len, reverse=True) if not word.isalpha() or not word.isascii()
)
_TOKEN = re.compile(
    rf"(?P<whole>{_HAN_WHOLE})|(?P<directed>{_HAN_DIRECTED})"
    rf"|(?P<phrase>(?<![A-Za-z])(?:{_PHRASES})(?![A-Za-z]))"
    rf"|(?P<hanverb>{words.HAN_VERBS}|{words.HAN_NEGATION}|{words.HAN_JOINT}|是|用|为)"
    rf"|(?P<han>[{HAN}])|(?P<word>[^\W\d_][\w'+#/.-]*\w|[^\W\d_])|(?P<number>\d[\d.,:]*\d|\d)|(?P<stop>[.,;:!?。，；：！？、()（）\n—])",
    re.IGNORECASE,
)
_HAN_SKIPPED = frozenset("的了都就还把请在要需之们个这那时候每次")


def read_marks(text: str) -> Marks:
    """The marks in `text`."""
    tokens = [_token(found) for found in _TOKEN.finditer(text)]
    marks: list[Mark] = []
    for index, token in enumerate(tokens):
        if token.sign is None:
            continue
        around = reversed(tokens[:index]) if token.sign.behind else iter(tokens[index + 1 :])
        of = _said_of(text, around)
        marks += [Mark(pair, side, of, token.sign.trait) for pair, side in token.sign.sides if of or token.sign.trait]
    spans = [(token.start, token.end) for token in tokens if token.sign and not token.sign.trait]
    mentioned = frozenset[str]().union(*(token.texts for token in tokens), _pairs(tokens))
    return Marks(tuple(marks), mentioned, tuple(spans))


def _token(found: re.Match[str]) -> _Token:
    start, end, text = found.start(), found.end(), found.group().lower()
    if found["directed"] or found["hanverb"]:
        sign = _Sign(((text, text),)) if found["directed"] or text in words.HAN_VERBS.split("|") else None
        return _Token(start, end, frozenset({text}) if sign else frozenset(), sign, stop=True)
    if found["phrase"]:
        sign = _SIGNS[text]
        return _Token(start, end, frozenset({text}) if sign.trait else frozenset(), sign, stop=not sign.trait)
    if found["word"]:
        return _word(start, end, text)
    if found["stop"]:
        return _Token(start, end, stop=True)
    if text in _HAN_SKIPPED:
        return _Token(start, end)
    return _Token(start, end, frozenset({text}))


def _word(start: int, end: int, word: str) -> _Token:
    base = stem(word.removesuffix("'s"))
    sign = _SIGNS.get(base)
    if sign is not None:
        return _Token(start, end, frozenset({base}) if sign.trait else frozenset(), sign, stop=not sign.trait)
    if word in words.COPULAS or word in words.PREPOSITIONS or word in words.NEGATORS:
        return _Token(start, end, stop=True)
    if word in words.GLUE or word in words.DETERMINERS:
        return _Token(start, end)
    if base in _VERBS:
        return _Token(start, end, frozenset({base}), _Sign(((base, base),)))
    return _Token(start, end, frozenset({base}))


def _said_of(text: str, around: Iterator[_Token]) -> frozenset[str]:
    """The next words, up to what ends them; Chinese in pairs of characters, a single one by itself."""
    taken: list[_Token] = []
    count = 0.0
    for token in around:
        if token.stop or count >= MOST_OF:
            break
        if token.texts:
            taken.append(token)
            count += 0.5 if re.match(f"[{HAN}]$", text[token.start : token.end]) else 1.0
    taken.sort(key=lambda token: token.start)
    pairs = _pairs(taken)
    single = {text for token in taken for text in token.texts if len(text) > 1 or text.isascii()}
    return frozenset(single | pairs) or frozenset(text for token in taken for text in token.texts)


def _pairs(tokens: list[_Token]) -> frozenset[str]:
    """Characters that stand side by side, in pairs."""
    single = [(token.start, min(token.texts)) for token in tokens if len(token.texts) == 1 and token.end - token.start == 1]
    return frozenset(
        one + other
        for (start, one), (after, other) in zip(single, single[1:], strict=False)
        if after == start + 1 and not one.isascii() and not other.isascii()
    )
