"""What must not be stored is taken out of texts here, before anything else sees them.

`Redactor.redact` masks secrets as `[redacted:name]`; `public` cuts what was never meant to be kept: private blocks and
characters that no store can hold. `clean` also cuts recalld's own injected blocks from what was overheard, else a
memory would be learnt from itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from recalld.config import PrivacyConfig
from recalld.redact.table import PROVIDERS, Rule
from recalld.redact.values import BARE, HINTS, KEYWORD, is_secret

TABLE: tuple[Rule, ...] = (
    *PROVIDERS,
    Rule("password", HINTS, KEYWORD, lambda: "db pass" + "word: " + "k3v9x2m7!q4"),
    Rule("password", HINTS, BARE, lambda: "pass" + "word " + "k3v9x2!m7q4"),
)

_PRIVATE_IPS = Rule(
    "private-ip",
    (".", ":"),
    re.compile(
        r"(?<![\w.])(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|"
        r"3[01])(?:\.\d{1,3}){2}|169\.254(?:\.\d{1,3}){2}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|"
        r"12[0-7])(?:\.\d{1,3}){2})(?![\w]|\.\d)|"
        r"(?<![\w:])f[cd][0-9a-f]{2}:(?:[0-9a-fA-F]{0,4}:){1,6}[0-9a-fA-F]{0,4}(?![\w:])"
    ),
    lambda: "10.20." + "30.40",
)
_EMAILS = Rule(
    "email",
    ("@",),
    re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}(?![\w-])"),
    lambda: "someone@" + "example.org",
)

_MARK = re.compile(r"(\[redacted:[a-z0-9-]{1,40}\])")
# A mask may uncover the next secret where they are glued together; in a long text so many rounds would take seconds.
_ROUNDS, _ROUNDS_IF_LONG, _LONG_CHARS = 10, 4, 20_000

SHORT_CHARS = 300
"""Paths and names, the same with every event, are masked once."""


class Redactor:
    """Masks secrets, and what the owner lists in `[privacy]`. Masking twice changes nothing more."""

    def __init__(self, privacy: PrivacyConfig) -> None:
        self._rules = (
            *TABLE,
            *([_PRIVATE_IPS] if privacy.mask_private_ips else []),
            *([_EMAILS] if privacy.mask_emails else []),
            *(Rule("pattern", (), re.compile(pattern), str) for pattern in privacy.patterns),
            *(
                Rule("word", (word.lower(),), re.compile(re.escape(word), re.IGNORECASE), str)
                for word in privacy.words
                if word
            ),
        )
        self._remembered = lru_cache(maxsize=256)(self._masked)

    def redact(self, text: str) -> str:
        """`text` with `[redacted:name]` in place of each secret."""
        return self._remembered(text) if len(text) <= SHORT_CHARS else self._masked(text)

    def _masked(self, text: str) -> str:
        for _ in range(_ROUNDS if len(text) < _LONG_CHARS else _ROUNDS_IF_LONG):
            masked = self._once(text)
            if masked == text:
                break
            text = masked
        return text

    def _once(self, text: str) -> str:
        lowered = text.lower()
        for rule in self._rules:
            if not rule.hints or any(hint in lowered for hint in rule.hints):
                text = _outside_marks(text, rule)
        return text


def _outside_marks(text: str, rule: Rule) -> str:
    if "[redacted:" not in text:
        return rule.pattern.sub(_mask(rule, text), text)
    pieces = _MARK.split(text)
    for place in range(0, len(pieces), 2):
        pieces[place] = rule.pattern.sub(_mask(rule, pieces[place]), pieces[place])
    return "".join(pieces)


def _mask(rule: Rule, text: str) -> Callable[[re.Match[str]], str]:
    mark = f"[redacted:{rule.name}]"

    def replace(match: re.Match[str]) -> str:
        if not match[0] or (rule.pattern is KEYWORD and not is_secret(match, text)):
            return match[0]
        if "secret" not in match.re.groupindex:
            return mark
        begin, end = (place - match.start() for place in match.span("secret"))
        kept = match[0]
        if rule.name == "password":
            end -= len(kept[begin:end]) - len(kept[begin:end].rstrip(".,;:)]}"))
        return kept[:begin] + mark + kept[end:]

    return replace


_LT, _GT = r"(?:<|&lt;|\\u003[cC])", r"(?:>|&gt;|\\u003[eE])"
_PRIVATE = re.compile(
    rf"{_LT}private(?:\s[^<>\n]{{0,200}})?{_GT}[\s\S]*?(?:{_LT}/private\s{{0,5}}{_GT}|\Z)", re.IGNORECASE
)
_INJECTED = re.compile(rf"{_LT}recalld-memory\b[\s\S]*?(?:{_LT}/recalld-memory\s{{0,5}}(?:{_GT}|\Z)|\Z)", re.IGNORECASE)
_INJECTED_ITEM = re.compile(
    r"^(?:(?:pinned|user|project|team|last time):\n)?(?:[^\n]{0,40}\[(?:fact|preference|decision|lesson|progress|"
    r"summary), ?\d{4}-\d\d-\d\d[^\]\n]{0,20}\][^\n]*|[^\n]*\(m-[0-9a-f]{4,20}\)[^\n]*)$"
    r"|^[^\n]*notes, not instructions\. Whatever the user says[^\n]*$",
    re.MULTILINE,
)
_INJECTED_END = re.compile(rf"[^\n]*{_LT}/recalld-memory\s{{0,5}}{_GT}", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]?[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|.)")
# Also what nobody sees, and what could hide words from a reader or from the rules: the joiners of scripts and emoji stay.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """A captured text without what must not be kept: `public`, without blocks that recalld injected.

    Those also where they are escaped, quoted or cut off, with single lines quoted from one.
    """
    text = public(text)
    lowered = text.lower()
    if "recalld-memory" in lowered:
        text = _INJECTED_END.sub("", _INJECTED.sub(" ", text))
    if "(m-" in lowered or "[" in lowered or "not instructions" in lowered:
        text = _INJECTED_ITEM.sub("", text)
    return text


def public(text: str) -> str:
    """`text` without `<private>` blocks (an unclosed one reaches to the end): what somebody gives to be kept as it is.

    Always valid Unicode without control characters but tab and newline.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = _CONTROL.sub("", text)
    return _PRIVATE.sub(" ", text) if "private" in text.lower() else text
