"""Which lines of a prompt or an answer are somebody's own words: code, logs, tables, quotes and diffs are not."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]{0,6}(?:```|~~~)[\s\S]*?(?:^[ \t]{0,6}(?:```|~~~)[ \t]*$|\Z)", re.MULTILINE)
_MACHINE_TAGS = re.compile(
    r"<(system-reminder|command-[a-z]+|local-command-[a-z]+|bash-(?:input|stdout|stderr)|"
    r"task-notification|ide_[a-z]+)>[\s\S]*?(?:</\1>|\Z)"
)
_LOG = re.compile(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ,]+\d\d:\d\d|\[?\d\d:\d\d:\d\d|"
    r"[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|"
    r"CRITICAL|SEVERE|FAILED|PASSED|FAIL|PASS)\b[\]:\s]|\w*Warning: |Process finished with|"
    r"(?:错误|警告|报错|异常|エラー)[:：]|(?:ld|cc|gcc|clang|bash|zsh|sh|git|ssh|curl|docker|node|python3?|"
    r"java|cargo|go): .*(?:not found|error|denied|fail|No such)|(?:npm|yarn|pnpm) (?:ERR!|WARN|"
    r"error|warn)|(?:error|warning)(?:\[\w+\])?:|E {2,}|\w+\.\w{1,4}:\d+(?::\d+)?:)"
)
_LEVEL = r"(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|SEVERE|NOTICE)"
_STAMPED = re.compile(  # a time or a date in front of a level, a level in front of what reports it
    rf"^\s*\[?(?:[\w./-]{{2,20}}[T ,]+){{0,2}}\d\d:\d\d:\d\d[\w.,:+ -]{{0,12}}\]?.{{0,40}}?\b{_LEVEL}\b|"
    rf"^\s*\[?\d{{2,4}}[-/.]\d\d[-/.]\d{{2,4}}[T ,]+\d\d:\d\d|^\s*(?:\[?[\w.$/-]+\]?:? )?[\[(<]?{_LEVEL}[\])>]?:? +[\[(]?(?=[\w.$/-]*[A-Z._/$])[\w.$/-]+[\])]?(?::| [-–] )"
)
_TALLY = re.compile(  # the last line of a test run
    r"(?i)^[\s=*-]*(?:(?:tests?|test suites?|snapshots?|suites|ran|test result):? (?:\w+\. )?)?(?:\d+ (?:passed|failed|skipped|errors?|warnings?|"
    r"xfailed|xpassed|deselected|passing|failing|pending|todo|total|assertions?|failures?|ignored|tests? (?:passed|failed)|"
    r"tests?(?= (?:in|ran)\b))\b[,;. ]*)+(?:(?:in|ran in) [\d.]+ ?\w+)?[\s=.()\d:s-]*$|^\s*build (?:failed|successful) in \d"
)
_REPORTED = re.compile(
    r"^\s*An error occurred(?: \(\w+\))? (?:when|while|during|in) |^\s*(?:[\w.-]+:? ){0,2}(?:error|exception|denied|unauthorized|invalid|failed)\b.*\[redacted:",
    re.IGNORECASE,
)
_TRACE = re.compile(
    r"^\s*(?:Traceback \(|at [\w.$<>/@-]+[ (]|File \"|(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?:: |"
    r"$)|Caused by:|goroutine \d|panic:|\.{3} \d+ more|\^+\s*$|thread '|Segmentation fault|"
    r"curl: \(|fatal: |make(?:\[\d+\])?: )"
)
_DIFF = re.compile(
    r"^(?:diff --git |index [0-9a-f]{7}|@@ |--- [\w/.]|\+\+\+ [\w/.]|[+-](?=[\w<{}(\"'#/@.]|"
    r"\s{2,}))"
)
_TABLE = re.compile(r"^\s*\|.*\|\s*$|^\s*[|+][-=+|: ]{5,}$|^\s*[-=_*]{3,}\s*$")
_SHELL = re.compile(r"^\s*(?:[$❯➜»] |>>> |\.\.\. |PS [A-Z]:|\w+@[\w-]+[:~ ].{0,40}[$#] )")
_URL = re.compile(r"^\s*(?:[-*] )?<?https?://\S+>?\s*$")
_CODE = re.compile(
    r"^\s*(?://|/\*|\*/|#include|#!|@\w+(?:\(|$)|<!--|</?\w+[^>]*>\s*$|<\w+[^>]*>.*</\w+>\s*$|"
    r"(?:import|export|from) .{1,80}(?:;|['\"]|import \S+.*)$|(?:def|class|func|fn|"
    r"function) \w+.*[:{(]\s*$|(?:pub |async |static |public |private |protected )+\w+.*[({;]\s*$|"
    r"(?:const|let|var|val) [\w{\[].*=.+|return\b.*;\s*$|(?:if|for|while|switch|else if) ?\(.*|"
    r"SELECT .+ FROM |INSERT INTO |CREATE TABLE |[\w.\[\]\"']+ = .*[;)]\s*$|"
    r"[\w.]+\(.*\)[;,{]?\s*$|[{}()\[\];,]+\s*$|\"[\w-]+\"\s*:.*|[A-Z][A-Z0-9_]{2,}=\S*\s*$|"
    r"console\.\w+\()"
)
_CODE_END = re.compile(r"[;{}]\s*$")
_LIST = re.compile(
    r"^\s*(?:[-*•·+]\s+(?:\[[ xX]\]\s+)?|\(?\d{1,2}[.)、]\s*(?=\D)|"
    r"[(（]?[一二三四五六七八九十]{1,2}[)）、]\s*|[①-⑳]\s*|\(?[a-h]\)\s+)"
)
_HEADING = re.compile(r"^\s*#{1,6}\s+")
_MARKUP = re.compile(r"\*\*|</?(?:b|i|em|strong|br)\s*/?>")
_LINK = re.compile(r"\[([^\]\n]{1,80})\]\(https?://[^)\s]{1,200}\)")
_ENDS = 6000  # characters looked at, from each end


def paragraphs(text: str) -> list[list[str]]:
    """The prose of `text`: paragraphs (parted by blank lines or by what was cut) of lines, list marks removed.

    Of a very long text only the beginning and the end: the middle is a paste, and people write around it.
    """
    text = _MACHINE_TAGS.sub("\n\n", text)
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n\n", text)
    if len(text) > 2 * _ENDS:
        text = f"{text[:_ENDS]}\n\n{text[-_ENDS:]}"
    found: list[list[str]] = [[]]
    for raw in text.split("\n"):
        if not raw.strip() or _foreign(raw):
            if found[-1]:
                found.append([])
            continue
        line = _LINK.sub(r"\1", _MARKUP.sub("", raw))
        item = _LIST.match(line) or _HEADING.match(line)
        if item:
            line = line[item.end() :]
        if found[-1] and not item and _wrapped(found[-1][-1], line):
            found[-1][-1] += " " + line.strip()
        elif line.strip():
            found[-1].append(line.strip())
    return [paragraph for paragraph in found if paragraph]


def reported(line: str) -> bool:
    """Whether a program printed this, wherever it stands: a stamped log line, the tally of a test run, an error's text."""
    return any(pattern.search(line) for pattern in (_STAMPED, _TALLY, _REPORTED))


def _foreign(line: str) -> bool:
    """Whether no person wrote this line for this turn."""
    if line.lstrip().startswith((">", "&gt;")):
        return True
    if len(line) > 2000 and line.count(" ") * 12 < len(line) and line.isascii():
        return True
    if reported(line) or any(pattern.match(line) for pattern in (_LOG, _TRACE, _DIFF, _TABLE, _SHELL, _URL, _CODE)):
        return True
    if _CODE_END.search(line) and not line.rstrip().endswith((".;", "；")) and re.search(r"[=(){}<>]|::|->", line):
        return True
    indented = line.startswith(("    ", "\t"))
    return indented and not _LIST.match(line) and re.search(r"[=(){}<>;#/\\]|: *$", line) is not None


def _wrapped(before: str, line: str) -> bool:
    """A line that a narrow editor broke: it goes on in lower case after a long line without an end."""
    return len(before) > 60 and before[-1] not in ".!?:;。！？：；" and line.lstrip()[:1].islower()
