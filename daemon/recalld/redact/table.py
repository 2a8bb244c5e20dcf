"""Secrets that are known by their own shape: one table of (name, pattern, example).

A rule costs nothing where none of its `hints` (lower-case text that every match contains) occurs. Every pattern is
linear: a literal head, then one class, each repeat possessive or bounded. Examples are put together when asked for,
so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_LOWER = "k3v9x2m7q4t8w1z6b5n0c3d9f7g2h4j8s6p1r5"
_MIXED = "aZ3kQ9xW2mT7vB4nR8cY1hL6dF5gJ0pS3uE9iO7oK2"
_UPPER = "Q3ZK7MX2VT9WL4BN8RC5"
_HEX = "3f9a1c7e5b2d8046a9c3e1f7d5b80264" * 2

_B = r"(?<![A-Za-z0-9_])"  # what comes before is not part of a longer word
_E = r"(?![A-Za-z0-9_])"


@dataclass(frozen=True)
class Rule:
    """One kind of secret.

    pattern: group `secret` is what gets masked, the whole match where there is no such group.
    example: makes a text which the rule must find; two calls give the same text.
    """

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    example: Callable[[], str]


def _rule(name: str, hints: str, pattern: str, *parts: str) -> Rule:
    return Rule(name, tuple(hints.split()), re.compile(pattern), lambda: "".join(parts))


_KEY_BODY = (
    r"(?:(?:[^-]|-(?!----))*+-----END[^-\n]{0,60}+-----|(?:(?:\s|\\+[nrt]|"
    r"[>|\"',+*])*+[A-Za-z0-9+/]{12,}+={0,2})*+)"  # or cut off: as far as the lines of base64 go
)

PROVIDERS: tuple[Rule, ...] = (
    _rule(
        "private-key",
        "-----begin",
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----" + _KEY_BODY,
        "-----BEGIN RSA PRIV",
        "ATE KEY-----\n",
        _MIXED,
        "\n-----END RSA PRIV",
        "ATE KEY-----",
    ),
    _rule("age-key", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,60}", "AGE-SECRET", "-KEY-1", _UPPER * 3),
    _rule(
        "jwt",
        "eyj",
        _B + r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?",
        "eyJ" + "hbGciOiJIUzI1NiJ9",
        ".eyJ" + "zdWIiOiI0MiJ9.",
        _MIXED,
    ),
    _rule(
        "aws-key",
        "akia asia abia acca",
        _B + r"(?:AKIA|ASIA|ABIA|"
        r"ACCA)[A-Z0-9]{16}(?:[^A-Za-z0-9\n]{1,6}(?:[A-Za-z_]{3,20}[^A-Za-z0-9\n]{1,6}){0,4}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=]))?",
        "AK" + "IA",
        _UPPER[:16],
    ),
    _rule("github", "gh", _B + r"gh[pousr]_[A-Za-z0-9]{16,}+", "gh" + "p_", _MIXED[:36]),
    _rule("github", "github_pat_", _B + r"github_pat_[A-Za-z0-9_]{20,}+", "github_" + "pat_", _MIXED),
    _rule(
        "gitlab",
        "gl",
        _B + r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{16,}+",
        "gl" + "pat-",
        _MIXED[:20],
    ),
    _rule("anthropic", "sk-ant-", _B + r"sk-ant-[A-Za-z0-9_-]{12,}+", "sk-" + "ant-api03-", _MIXED),
    _rule(
        "openai",
        "sk-",
        _B + r"sk-(?:(?:proj|svcacct|admin|or|or-v1|None)-[A-Za-z0-9_-]{16,}+|[A-Za-z0-9]{20,}+)",
        "sk-" + "proj-",
        _MIXED,
    ),
    _rule(
        "stripe",
        "_live_ _test_ whsec_",
        _B + r"(?:(?:sk|rk|pk)_(?:live|test)_|whsec_)[A-Za-z0-9+/]{10,}+=*+",
        "sk_" + "live_",
        _MIXED[:24],
    ),
    _rule(
        "slack",
        "xox xapp-",
        _B + r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{10,}+",
        "xox" + "b-",
        "2048-4096-",
        _MIXED[:24],
    ),
    _rule(
        "webhook",
        "hooks.slack.com/ /api/webhooks/ webhook.office.com/",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|"
        r"discord(?:app)?\.com/api/webhooks/\d{5,25}/|"
        r"webhook\.office\.com/webhookb2/)(?P<secret>[A-Za-z0-9/_@-]{16,}+)",
        "https://hooks.slack" + ".com/services/T0/B0/",
        _MIXED[:24],
    ),
    _rule("google", "aiza", _B + r"AIza[A-Za-z0-9_-]{30,40}", "AI" + "za", _MIXED[:35]),
    _rule(
        "google-oauth",
        "ya29. gocspx- 1//0",
        _B + r"(?:ya29\.|GOCSPX-|1//0)[A-Za-z0-9_-]{20,}+",
        "GOC" + "SPX-",
        _MIXED[:28],
    ),
    _rule("npm", "npm_", _B + r"npm_[A-Za-z0-9]{30,}+", "np" + "m_", _MIXED[:36]),
    _rule("pypi", "pypi-ag", _B + r"pypi-Ag[A-Za-z0-9_-]{40,}+", "py" + "pi-Ag", _MIXED * 2),
    _rule("huggingface", "hf_ api_org_", _B + r"(?:hf|api_org)_[A-Za-z0-9]{28,}+", "h" + "f_", _MIXED[:34]),
    _rule(
        "azure",
        "accountkey= sharedaccesskey= sig=",
        r"(?i:AccountKey|SharedAccessKey|[?&]sig)=(?P<secret>[A-Za-z0-9+/%]{20,}+=*+)",
        "Account" + "Key=",
        _MIXED * 2,
        "==",
    ),
    _rule("azure-ad", "8q~ 7q~", _B + r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}", "abc8" + "Q~", _MIXED[:34]),
    _rule("twilio", "sk", _B + r"SK[0-9a-f]{32}" + _E, "S" + "K", _HEX[:32]),
    _rule(
        "sendgrid",
        "sg.",
        _B + r"SG\.[A-Za-z0-9_-]{16,24}\.[A-Za-z0-9_-]{30,50}",
        "S" + "G.",
        _MIXED[:22],
        ".",
        _MIXED + "a",
    ),
    _rule("mailgun", "key-", _B + r"key-[0-9a-f]{32}" + _E, "ke" + "y-", _HEX[:32]),
    _rule("telegram", ":aa", _B + r"\d{8,10}:AA[A-Za-z0-9_-]{30,36}", "123456789:", "A" + "A", _MIXED[:33]),
    _rule(
        "discord",
        ".",
        _B + r"[MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}",
        "M" + _MIXED[:25],
        ".",
        "Gk3x9Z.",
        _MIXED[:38],
    ),
    _rule("digitalocean", "_v1_", _B + r"do[por]_v1_[0-9a-f]{40,}+", "do" + "p_v1_", _HEX),
    _rule(
        "shopify",
        "shp",
        _B + r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
        "shp" + "at_",
        _HEX[:32],
    ),
    _rule(
        "square",
        "sq0 eaaa",
        _B + r"(?:sq0[a-z]{3}-[A-Za-z0-9_-]{22,}+|EAAA[A-Za-z0-9_-]{56,}+)",
        "sq" + "0atp-",
        _MIXED[:22],
    ),
    _rule(
        "hashicorp",
        "hvs. hvb. hvr. .atlasv1.",
        _B + r"(?:hv[sbr]\.|[A-Za-z0-9]{14}\.atlasv1\.)[A-Za-z0-9_-]{20,}+",
        "hv" + "s.",
        _MIXED,
    ),
    _rule(
        "provider-key",
        "dapi lin_api_ ntn_ figd_ pmak- glsa_ glc_ nrak- sntrys_ sntryu_ dp.pt. hrku- gsk_ r8_ xai- pplx- sbp_ nfp_ "
        "pscale_ ltai akid tskey- pul- dckr_pat_ rubygems_ cio xkeysib- sk_ eaab hooks_ atatt3 vercel_ cfut_ flyv1",
        _B + r"(?:dapi[0-9a-f]{32}|(?:lin_api_|ntn_|figd_|PMAK-|glsa_|glc_|NRAK-|sntry[su]_|dp\.pt\.|HRKU-|"
        r"gsk_|r8_|xai-|pplx-|sbp_|nfp_|pscale_(?:tkn|pw|oauth)_|tskey-(?:auth|api|client)-|pul-|"
        r"dckr_pat_|rubygems_|xkeysib-|ATATT3|vercel_|cfut_|FlyV1 fm2_)[A-Za-z0-9_=.+/-]{16,}+|"
        r"LTAI[A-Za-z0-9]{12,24}" + _E + r"|AKID[A-Za-z0-9]{13,40}" + _E + ")",
        "gs" + "k_",
        _MIXED,
    ),
    _rule(
        "authorization",
        "bearer basic authorization",
        r"(?i:\b(?:bearer|(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|token|digest|"
        r"apikey|bot)))\s{1,3}(?P<secret>(?=[A-Za-z_~+/.-]{0,200}[0-9=])[A-Za-z0-9._~+/-]{8,}+=*+)",
        "Authorization: Bear" + "er ",
        _LOWER,
    ),
    _rule(
        "authorization",
        "authorization",
        r"(?i:\bauthorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<secret>(?=[A-Za-z_~+/.-]{0,200}[0-9])[A-Za-z0-9._~+/-]{16,}+=*+)",
        "Author" + "ization: ",
        _LOWER,
    ),
    _rule(
        "cookie",
        "cookie",
        r"(?i:\b(?:set-)?cookie[\"']?\s{0,3}:)\s{0,3}[\"']?(?P<secret>[A-Za-z0-9_.%-]{1,80}=[^\s\"';]{6,}+(?:;\s?[A-Za-z0-9_.%-]{1,80}=[^\s\"';]++)*+)",
        "Coo" + "kie: sid=",
        _LOWER,
    ),
    _rule(
        "url-password",
        "://",
        r"(?i:[a-z][a-z0-9+.-]{1,20})://[^\s/:@\"'<>]{0,100}:(?P<secret>(?!\d{1,5}/)(?!(?:\$|"
        r"%[A-Z_]+%|<|\{\{|\*{3}))[^\s@\"'<>]{1,128})@(?=[\w.\[])",
        "postgres://app:",
        _LOWER[:12],
        "@db.example.net/x",
    ),
    _rule(
        "basic-auth",
        "-u --user sshpass",
        r"(?:(?<=\s)(?:-u|--user)[ =]\s?[\"']?[\w.@-]{1,60}:|"
        r"\bsshpass\s-p\s?[\"']?)(?P<secret>(?!\$)[^\s\"'@$]{4,100})",
        "curl -u ops:",
        _LOWER[:12],
        " https://example.net",
    ),
)
