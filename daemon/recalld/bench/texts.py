"""Made-up memories and the questions they answer, as many as are wanted, the same in every run."""

from __future__ import annotations

from typing import NamedTuple

from recalld.model import Type


class _Aspect(NamedTuple):
    """What can be said of a component. `{c}` is the component, `{v}` one of `values`."""

    type: Type
    said: str
    asked: str
    values: tuple[str, ...]


_AREAS = (
    "invoice", "session", "catalogue", "shipping", "refund", "search", "ledger", "payroll", "booking", "inventory",
    "pricing", "audit", "notification", "loyalty", "tax", "coupon", "returns", "supplier", "warehouse", "delivery",
    "subscription", "metering", "quota", "billing", "identity", "consent", "translation", "thumbnail", "telemetry",
    "feedback", "calendar", "contract", "budget", "forecast", "survey", "campaign", "referral", "voucher", "archive",
    "transcript",
)  # fmt: skip
_PARTS = (
    "importer", "gateway", "worker", "scheduler", "exporter", "indexer", "cache", "webhook", "dashboard", "mailer",
    "queue", "crawler", "parser", "proxy", "service", "job", "pipeline", "monitor", "resolver", "validator", "renderer",
    "editor", "client", "adapter", "collector", "router", "store", "loader", "planner", "notifier",
)  # fmt: skip
_AREAS_ZH = (
    "发票", "会话", "目录", "物流", "退款", "搜索", "账本", "工资", "预订", "库存", "定价", "审计", "通知", "会员", "税务",
    "优惠券", "退货", "供应商", "仓库", "配送", "订阅", "计量", "配额", "计费", "身份", "授权", "翻译", "缩略图", "埋点",
    "反馈", "日历", "合同", "预算", "预测", "问卷", "活动", "推荐", "代金券", "归档", "转写",
)  # fmt: skip
_PARTS_ZH = (
    "导入器", "网关", "工作进程", "调度器", "导出器", "索引器", "缓存", "回调", "看板", "邮件", "队列", "爬虫", "解析器",
    "代理", "服务", "任务", "流水线", "监控", "解析服务", "校验器", "渲染器", "编辑器", "客户端", "适配器", "采集器",
    "路由", "存储", "加载器", "规划器", "通知器",
)  # fmt: skip
_STORES = ("PostgreSQL 16", "SQLite", "MariaDB", "Redis Streams", "DuckDB", "MongoDB", "S3 objects", "ClickHouse")
_TOOLS = ("pnpm", "uv", "cargo", "Gradle", "Bazel", "make", "just", "Nix")
_LANGUAGES = ("Go", "Rust", "Kotlin", "TypeScript", "Python 3.12", "Elixir", "C#", "Swift")
_TIMES = ("30 seconds", "2 minutes", "5 minutes", "a quarter of an hour", "an hour", "six hours", "a day", "a week")
_PORTS = tuple(str(7000 + 37 * number) for number in range(24))
_ASPECTS = (
    _Aspect(Type.FACT, "The {c} keeps its data in {v}.", "where does the {c} store what it knows?", _STORES),
    _Aspect(Type.FACT, "The {c} listens on port {v}.", "on which port can I reach the {c}?", _PORTS),
    _Aspect(Type.DECISION, "We decided to write the {c} in {v}.", "add a health check to the {c}", _LANGUAGES),
    _Aspect(Type.DECISION, "The {c} is built with {v}, nothing else.", "how do I build the {c}?", _TOOLS),
    _Aspect(Type.LESSON, "The {c} hung because a lock was held for {v}.", "the {c} hangs again, why?", _TIMES),
    _Aspect(Type.LESSON, "Retries of the {c} wait {v} at most.", "the {c} retries too long, please fix", _TIMES),
    _Aspect(Type.PREFERENCE, "Reviews of the {c} come before {v} have passed.", "who reviews the {c}?", _TIMES),
    _Aspect(Type.PROGRESS, "The {c} has been moved to {v}, its tests are still red.", "where are we with the {c}?", _STORES),
)  # fmt: skip
_ASPECTS_ZH = (
    _Aspect(Type.FACT, "{c}的数据存放在 {v}。", "{c}的数据放在哪里？", _STORES),
    _Aspect(Type.FACT, "{c}监听 {v} 端口。", "{c}用的是哪个端口？", _PORTS),
    _Aspect(Type.DECISION, "决定用 {v} 重写{c}。", "给{c}加一个健康检查", _LANGUAGES),
    _Aspect(Type.LESSON, "{c}卡住过，因为锁没有释放。", "{c}又卡住了，为什么？", ("",)),
)
CHINESE_EVERY = 4
"""One memory in so many is Chinese."""
_STRIDE = 7919
"""Prime, and so spreads neighbouring numbers over all components."""

_PASTE = """Traceback (most recent call last):
  File "/srv/app/main.py", line {n}, in run
    result = component.handle(request, deadline={n})
  File "/srv/app/{c}.py", line 88, in handle
    raise TimeoutError("no answer from upstream after {n} ms")
TimeoutError: no answer from upstream after {n} ms
"""
_TALK = ("continue", "yes, do it", "thanks, looks good", "继续", "好的", "run the tests again please")


def memory(number: int) -> tuple[str, Type]:
    """The sentence of this number, and its type."""
    aspect, component = _made(number)
    return aspect.said.format(c=component, v=aspect.values[number // 3 % len(aspect.values)]), aspect.type


def question(number: int) -> str:
    """A prompt that the memory of this number answers."""
    aspect, component = _made(number)
    return aspect.asked.format(c=component)


def prompt(number: int, of: int) -> str:
    """One of many different prompts about the memories 0..`of`: questions, some with a pasted trace, some just talk."""
    asked = question(number * 31 % of)
    if number % 10 == 7:
        return f"{_TALK[number // 10 % len(_TALK)]} {'!' * (number // 60)}".strip()
    if number % 10 == 3:
        return f"{asked}\n\n{_PASTE.format(n=number, c=_AREAS[number % len(_AREAS)])}"
    return f"{asked} ({number})"


def _made(number: int) -> tuple[_Aspect, str]:
    chinese = number % CHINESE_EVERY == CHINESE_EVERY - 1
    aspects, areas, parts = (_ASPECTS_ZH, _AREAS_ZH, _PARTS_ZH) if chinese else (_ASPECTS, _AREAS, _PARTS)
    place = number // CHINESE_EVERY * _STRIDE + number % CHINESE_EVERY
    aspect = aspects[place % len(aspects)]
    area, part = areas[place // 8 % len(areas)], parts[place // 320 % len(parts)]
    turn = number // (CHINESE_EVERY * len(areas) * len(parts))
    if chinese:
        return aspect, f"{area}{part}{turn or ''}"
    return aspect, f"{area} {part}{f' v{turn}' if turn else ''}"
