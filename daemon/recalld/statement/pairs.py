"""The words that decide what a sentence says, in pairs of opposites. English and Chinese."""

from __future__ import annotations

import msgspec

from recalld.statement.atoms import MarkKind, stem

# One pair a line. A "~" stands before what follows its word ("部署前"); phrases and Chinese are found anywhere.
# These shape a sentence: what it says is the other way round, or of another time, with the other one.
_FRAMES = """
before, prior to, ~之前, ~以前, ~前 | after, once, as soon as, ~之后, ~以后, ~后
within, ~之内, ~以内, ~内 | after, ~之后, ~以后, ~后
during | before, prior to
during | after, once, as soon as
until, till | while
with | without
from, back from, 从 | to, into, onto, back to, back on, 到, 给, 向
into | out of
inside | outside
above | below
over | under
先, first of all | 再, 然后, 接着, then
by, 由, 被 | for
by, 由, 被 | to, 给
for | against
behind | in front of
since | until, till
->, =>, → |
"""
# These set a bound; without them the sentence says more.
_BOUNDS = """
at least, no less than, no fewer than, minimum of, >=, ≥, 至少, 最少, 不少于, 不低于, ~以上 | at most, no more than, up to, maximum of, <=, ≤, 至多, 最多, 不超过, 不多于, ~以下
more than, greater than, 超过, 多于, 大于, 高于 | less than, fewer than, 少于, 小于, 低于
only, 只, 仅 | also, 也
"""
# What is done, or how; wherever it stands, the other one is the opposite.
_ACTS = """
up | down
higher | lower
increase, 增加 | decrease, 减少
more | less, fewer
on | off
enable, activate, 启用, 开启, 打开 | disable, deactivate, 禁用, 关闭, 停用, 关掉
allow, permit, 允许 | deny, forbid, prohibit, 禁止
accept, 接受 | reject, refuse, 拒绝
include, 包含, 包括 | exclude, 排除, 不含
sync, synchronous, 同步 | async, asynchronous, 异步
ascending, 升序, 正序 | descending, 降序, 倒序
mandatory, required, 必填, 必须, 强制 | optional, 可选, 选填, 不必
earlier, 早于 | later, 晚于
parallel, 并行 | serial, sequential, 串行
manual, 手动 | automatic, 自动
encrypt, 加密 | decrypt, 解密
encode | decode
lock | unlock
import, 导入 | export, 导出
upload, 上传 | download, 下载
push, 推送 | pull, 拉取
upgrade, 升级 | downgrade, 降级
scale up, 扩容 | scale down, 缩容
"""
# What something is; in the subject it makes another subject: the front end has its rules, the back end others.
_TRAITS = """
min | max
first, 第一 | last, 最后
internal, 内部, 内网 | external, 外部, 外网
public, 公开 | private, 私有
frontend, 前端 | backend, 后端
client, 客户端 | server, 服务端
input, 输入 | output, 输出
source | target
upstream, 上游 | downstream, 下游
primary, 主库 | replica, 从库
horizontal | vertical
online | offline
oldest | newest
smallest | largest
allowlist, whitelist, 白名单 | denylist, blacklist, 黑名单
"""
# What stands before these does it, what follows has it done to it; so with all other verbs.
_ROLES = """
depend on, depends on, rely on, relies on, 依赖
调用
引用
继承
覆盖
替换, 代替, 取代
指向
通知
转发
监听
订阅
优先于
"""
_TABLES: tuple[tuple[MarkKind, str], ...] = (
    ("frame", _FRAMES),
    ("bound", _BOUNDS),
    ("act", _ACTS),
    ("trait", _TRAITS),
    ("verb", _ROLES),
)


class Sign(msgspec.Struct, frozen=True):
    """An entry of the tables: (pair, side) for each pair the word is of."""

    sides: tuple[tuple[str, str], ...]
    kind: MarkKind
    behind: bool = False


def _signs() -> dict[str, Sign]:
    signs: dict[str, Sign] = {}
    for kind, table in _TABLES:
        for pair in table.strip().splitlines():
            for side in pair.split("|"):
                entries = [entry.strip() for entry in side.split(",") if entry.strip()]
                for entry in entries:
                    word = entry.lstrip("~")
                    key = stem(word) if word.isascii() and word.isalpha() else word
                    known = signs[key].sides if key in signs else ()
                    signs[key] = Sign((*known, (pair, side)), kind, entry.startswith("~"))
    return signs


SIGNS = _signs()
COMPLEMENTS = frozenset(
    SIGNS[stem(word)].sides[0][0] for word in ("with", "on", "enable", "allow", "accept", "include", "mandatory")
)
"""The pairs of which one side denied says the other."""
