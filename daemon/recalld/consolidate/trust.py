"""Who may change what, and what has to be confirmed first."""

from __future__ import annotations

import re
from typing import Literal

from recalld.model import Candidate, Memory, Origin, Type

Confirm = Literal["off", "important", "all"]

# What a person would want to have seen before it is relied on (production, data, security, money, deadlines).
IMPORTANT = re.compile(
    r"\b(?:prod(?:uction)?|live|backups?|databases?|migrations?|delet\w*|drop\w*|data loss|retention|secur\w*|passwords?|credentials?|tokens?|secrets?"
    r"|vault|encrypt\w*|permissions?|auth\w*|gdpr|privacy|pric\w+|cost\w*|budget\w*|billing|payments?|invoic\w+|salary|contracts?|dollars?|euros?|usd|eur"
    r"|deadlines?|due|launch\w*|release date|go[- ]live)\b|[$€¥£]\s?\d|生产|线上|正式环境|数据库|备份|迁移|删除|安全|密码|凭证|密钥|令牌|加密|权限|隐私|价格|费用|预算|付款|支付|账单|合同"
    r"|截止|期限|上线|交付",
    re.IGNORECASE,
)


def may_change(candidate: Candidate, memory: Memory) -> bool:
    """Whether `candidate` may replace, refine or contradict `memory`: what a person prefers or decided, only a person changes."""
    if candidate.origin is Origin.USER or memory.origin is not Origin.USER:
        return True
    heard = candidate.origin in {Origin.ASSISTANT, Origin.IMPORT}
    return heard and memory.type not in {Type.PREFERENCE, Type.DECISION}


def confirmation(candidate: Candidate, confirm: Confirm) -> bool:
    """Whether a person has to confirm `candidate` before it counts.

    Asked for by hand: never. A preference that no person has stated: always. Else as `memory.confirm` says.
    """
    if candidate.explicit and candidate.origin is Origin.USER:
        return False
    if candidate.type is Type.PREFERENCE and candidate.origin in {Origin.ASSISTANT, Origin.TOOL}:
        return True
    if confirm == "important":
        return candidate.type is Type.DECISION or bool(IMPORTANT.search(candidate.content))
    return confirm == "all"
