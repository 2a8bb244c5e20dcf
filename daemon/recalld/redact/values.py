"""Secrets that only the word before them gives away: `password: ...`, `密码是…`, `API_KEY=...`.

What follows such a word is often no secret: an instruction, the place where the secret lives, a type, a variable.
`is_secret` draws that line; where it must guess it prefers to mask.
"""

from __future__ import annotations

import re

_KEYED = (
    "api", "access", "secret", "private", "signing", "encryption", "account", "master", "auth", "deploy", "license",
    "client",
)  # fmt: skip
_ENGLISH = (
    r"passwords?|passwd|passphrase|passcode|pwd|secrets?|tokens?|credentials?|"
    rf"(?:{'|'.join(_KEYED)})[ _-]?keys?"
)
_OTHER = r"passwort|kennwort|contraseña|clave secreta|mot de passe|senha|パスワード|暗証番号|비밀번호"
_CHINESE = r"密码|密碼|口令|令牌|密钥|密鑰|秘钥|秘密鍵"

HINTS = (
    "pass", "pwd", "secret", "token", "credential", "kennwort", "contrase", "senha", "パスワード", "暗証番号", "비밀번호",
    "密码", "密碼", "口令", "令牌", "密钥", "密鑰", "秘钥", "秘密鍵",
    *(f"{word}{sign}key" for word in _KEYED for sign in ("", " ", "_", "-")),
)  # fmt: skip

_BETWEEN = r"(?:\s(?:for|of|on|to|für|para|de|pour)(?:\s[\w./@'-]{1,40}){1,5}?)?"
_SEPARATOR = (
    r"[\"'`*]{0,3}\s{0,3}(?:(?P<strong>=>|:=|==?|[:：])|(?P<weak>\b(?:is now|was changed to|"
    r"changed to|is|are|was|ist|lautet|es|est)\b|改成了?|改为|设为|就是|现在是|是|为|為|"
    r"は)(?:\s?[:：])?)\s{0,3}"
)
_QUOTES = "\"'`“”‘’「」『』"
_STOP = "，。；、！？（）【】《》\\u3000-\\u9fff\\uff00-\\uffef"
_VALUE = rf"(?P<open>[{_QUOTES}])?(?P<secret>(?!\[redacted:)(?(open)[^{_QUOTES}\n]{{3,256}}|[^\s{_QUOTES}{_STOP}<>]{{3,256}}))"

KEYWORD = re.compile(
    rf"(?P<word>(?i:{_ENGLISH}|{_OTHER})(?:_[A-Za-z0-9]{{1,20}})?|(?:{_CHINESE})){_BETWEEN}{_SEPARATOR}{_VALUE}"
)
# No sign between them: only what could hardly be a word.
BARE = re.compile(
    rf"(?P<word>(?i:passwor[dt]|passwd|kennwort|contraseña|--password|--token)|{_CHINESE})\s{{1,3}}"
    r"(?P<open>[\"'`]?)(?P<secret>(?=[^\s]{0,60}[0-9])(?=[^\s]{0,60}[!@#$%^&*_+~?])(?=[^\s]{0,60}[A-Za-z])[^\s\"'`<>，。；、（）]{6,128})"
)

_PLACEHOLDER = re.compile(
    r"(?i)^(?:\$|%\w+%|\{|<|\(|\[|&|\*{2,}|x{3,}|\.{2,}|-{2,}|_{3,}|your[-_ ]|my[-_]|example|"
    r"changeme$|placeholder|redacted|process\.env|os\.environ|env[.\[(:]|getenv|import\.meta|"
    r"config[.\[]|settings[.\[]|self\.|this\.|vault|op://|aws-sm|ssm:|sops|enc\[|kms|keyring|"
    r"keychain|/|~/|\./|\.\./|https?://|file:|arn:|secretmanager|projects/)"
)
_CODE = re.compile(
    r"^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?:\(|\[)|^[A-Za-z_$]+(?:\.[A-Za-z_$]+)+$|"
    r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^_+[A-Za-z]+(?:_[A-Za-z]+)*[,:;]?(?:[A-Za-z_]+=)?"
    r"(?![\w!@#$%^&*+~?-])"
)
_PATH = re.compile(r"^[A-Za-z0-9_.-]{1,24}(?:/[A-Za-z0-9_.-]{1,24})+$")
_EMAIL = re.compile(r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$")
_NUMBER = re.compile(r"^[+-]?\d+(?:[.,]\d+)*[%a-zA-Z]{0,4}$")
_WORD = re.compile(r"^[A-Za-zÀ-ÿ][a-zà-ÿ]*(?:[-'/][A-Za-zà-ÿ]+)*$")
_ORDINARY_WORDS = """
required optional wrong right correct incorrect invalid valid expired empty missing blank null none nil true false
undefined unknown string str text bytes int integer number boolean bool object any void field fields column type input
secret password token key hashed encrypted stored kept saved set unset used unused needed shared rotated revoked
generated created deleted changed reset removed masked hidden visible plain plaintext public private base random
unique short long weak strong safe unsafe leaked exposed not never always only now still just also here there gone
ready fine bad good ok okay same different new old the a an in on at from by with without under to that this it its
what which where when who how why use see ask get check put read sent passed provided given found available protected
redacted hardcoded committed enabled disabled mandatory too very being part one case sensitive based limit error
errors rules passwd passphrase credentials value values strings erforderlich falsch leer abgelaufen geheim
obligatoria obligatorio obligatoire requis requerida caducada expiré vide incorrecta en im der die das unter bei nicht no sí
"""
_ORDINARY = frozenset(_ORDINARY_WORDS.split())


def is_secret(match: re.Match[str], text: str) -> bool:
    """Whether the `secret` group of a KEYWORD match in `text` is one, not a word about one."""
    value = match["secret"].rstrip(".,;:!?)]}")
    word = match["word"].lower()
    quoted = bool(match["open"])
    if " " in value:
        return quoted and "phrase" in word
    if (
        len(value) < 4
        or (word.endswith("s") and match["weak"])
        or _PLACEHOLDER.search(value)
        or _CODE.search(value)
        or _EMAIL.search(value)
    ):
        return False
    lenient = (
        "pass" in word or "pwd" in word or "wort" in word or word in {"密码", "密碼", "口令"} or "contrase" in word
    )
    if _NUMBER.match(value):
        return len(value) >= (4 if lenient else 12) if value.isdigit() else lenient and len(value) > 5
    if not value.isascii() and not any(char.isascii() and char.isalnum() for char in value):
        return False
    if _PATH.match(value) and not _dense(value):
        return False
    if _WORD.match(value):
        return _lone_word(match, text, value, quoted=quoted, lenient=lenient)
    if not lenient and not quoted and not match["strong"] and not any(char.isdigit() for char in value):
        return False
    if lenient:
        return not _joined_words(value)
    return (
        len(value) >= 8
        and not _joined_words(value)
        and any(char.isdigit() or char in "+/=_-!#$%^&*@" for char in value)
    )


def _lone_word(match: re.Match[str], text: str, value: str, *, quoted: bool, lenient: bool) -> bool:
    """A plain word is masked only as a password, where it stands alone before the end of the line or clause."""
    if not lenient or value.lower() in _ORDINARY or (value[0].isupper() and match["weak"]):
        return False
    if quoted:
        return True
    if re.search(r"(?:ed|ing|ly|less|able)$", value) and match["weak"]:
        return False
    rest = text[match.start("secret") + len(value) : match.start("secret") + len(value) + 3]
    return not rest.strip() or rest[0] in "\n\r.,;)!" or rest[0] in "，。；、）"


def _joined_words(value: str) -> bool:
    """`stored-in-vault`, `refresh_token`: lower-case words and nothing else."""
    return re.fullmatch(r"[a-z]{2,}(?:[_-][a-z]{2,})+|[a-z]+(?:[A-Z][a-z]+)+", value) is not None


def _dense(value: str) -> bool:
    """Long and mixed as only generated text is."""
    return (
        len(value) >= 20
        and sum(char.isdigit() for char in value) >= 3
        and any(char.isupper() for char in value)
        and any(char.islower() for char in value)
    )
