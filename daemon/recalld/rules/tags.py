"""Tags from a small vocabulary, for what a sentence names outright."""

from __future__ import annotations

import re

_LIMIT = 4

_TECH = (
    "postgres postgresql mysql sqlite redis mongodb kafka rabbitmq elasticsearch docker kubernetes "
    "terraform ansible nginx aws gcp azure github gitlab jenkins python django flask fastapi typescript "
    "javascript node react vue svelte angular next.js rust go java kotlin swift php ruby rails c++ c# "
    ".net scala elixir pytest jest vitest pnpm npm yarn poetry webpack vite eslint prettier tailwind css "
    "graphql grpc rest websocket spark airflow dbt pandas pytorch tensorflow linux windows macos android "
    "ios flutter unity godot latex bash vim git "
)
_ALIAS = {"postgresql": "postgres", "next.js": "nextjs", "c++": "cpp", "c#": "csharp", ".net": "dotnet"}
_AMBIGUOUS = frozenset(
    {"go", "rest", "next.js", "rust", "swift", "spark", "unity"}
)  # ordinary words too, unless capitalised

_AREA = {
    "testing": r"\btests?\b|\btesting\b|\bmock|测试|用例|覆盖率|テスト",
    "git": (
        r"\bcommits?\b|\bbranch(?:es)?\b|\bpull requests?\b|\bPRs?\b|\brebase\b|\bmerge\b|提交|分支|"
        r"コミット"
    ),
    "deploy": r"\bdeploy|\breleas(?:e|es|ing)\b|\brollout\b|部署|发布|上线|发版|デプロイ|リリース|desplieg",
    "ci": r"\bCI\b|\bpipelines?\b|\brunners?\b|流水线",
    "database": (
        r"\bdatabases?\b|\bDB\b|\bmigrations?\b|\btables?\b|数据库|建表|迁移|データベース|Datenbank|"
        r"base de datos"
    ),
    "api": r"\bAPIs?\b|\bendpoints?\b|接口",
    "security": (
        r"\bauth|\blogin\b|\bSSO\b|\bpasswords?\b|\bsecrets?\b|\bencrypt|\btokens?\b|鉴权|认证|密码|"
        r"权限|加密"
    ),
    "docs": r"\bdocs?\b|\bdocumentation\b|\bREADME\b|\bchangelog\b|文档",
    "style": (
        r"\bnaming\b|\bindent|\bformatting\b|\bquotes\b|\bspelling\b|\bprefix(?:ed)?\b|命名|缩进|格式|"
        r"注释"
    ),
    "frontend": r"\bfrontend\b|\bfront-end\b|\bUI\b|前端|页面",
    "backend": r"\bbackend\b|\bback-end\b|后端",
    "answers": r"\banswers\b|^answer\b|\brepl(?:y|ies)\b|\bexplain|\bemojis?\b|回答|回复|解释",
}
_ENV = {
    "production": r"\bprod(?:uction)?\b|生产|线上|正式环境|本番|Produktion|producción",
    "staging": r"\bstaging\b|\bpre-?prod\b|预发|ステージング|検証環境",
    "development": r"\b(?:in|for) dev(?:elopment)?\b|\bdev (?:server|environment|machine)\b|开发环境",
    "test": r"测试环境|\btest environment\b",
    "local": r"\blocalhost\b|\blocally\b|本地|本机",
}  # fmt: skip

_AREAS = [(f"area:{name}", re.compile(pattern, re.IGNORECASE)) for name, pattern in _AREA.items()]
_ENVS = [(f"env:{name}", re.compile(pattern, re.IGNORECASE)) for name, pattern in _ENV.items()]
_NAMES = re.compile(
    r"(?<![\w.+#-])(?:"
    + "|".join(re.escape(name) for name in sorted(_TECH.split(), key=len, reverse=True))
    + r")(?![\w+#-])",
    re.IGNORECASE,
)


def tags_of(content: str) -> tuple[str, ...]:
    """At most four tags, `tech:` first, then `env:` and `area:`."""
    found: dict[str, None] = {}
    for match in _NAMES.finditer(content):
        name = match[0].lower()
        if name not in _AMBIGUOUS or (match[0][0].isupper() and match.start() > 0):
            found[f"tech:{_ALIAS.get(name, name)}"] = None
    for tag, pattern in (*_ENVS, *_AREAS):
        if pattern.search(content):
            found[tag] = None
    return tuple(found)[:_LIMIT]
