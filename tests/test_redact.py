"""Secrets are masked wherever they stand, and nothing else is; what must not be captured is cut."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.config import PrivacyConfig
from recalld.redact import TABLE, Redactor, clean
from recalld.redact.table import Rule

REDACT = Redactor(PrivacyConfig()).redact
TAIL = "Qw7" + "eRt9Yu2i"  # a password's look, put together here so that no scanner takes it for one


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.name)
def test_every_rule_masks_its_own_example_in_running_text(rule: Rule) -> None:
    """The table tests itself: each example is masked by its rule, and the words around it stay."""
    masked = REDACT(f"before {rule.example()} after")
    assert f"[redacted:{rule.name}]" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert REDACT(masked) == masked


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password: {}", "password: [redacted:password]"),
        ("the password for staging is {}.", "the password for staging is [redacted:password]."),
        ("DB_PASSWORD={}", "DB_PASSWORD=[redacted:password]"),
        ('{{"password": "{}"}}', '{"password": "[redacted:password]"}'),
        ("passwd {}!", "passwd [redacted:password]"),
        ("X-Api-Key: {}", "X-Api-Key: [redacted:password]"),
        ("client_secret={}", "client_secret=[redacted:password]"),
        ("密码是 {}。记住端口", "密码是 [redacted:password]。记住端口"),
        ("（ssh 口令：{}），数据在", "（ssh 口令：[redacted:password]），数据在"),
        ("令牌为{}", "令牌为[redacted:password]"),
        ("Passwort: {}", "Passwort: [redacted:password]"),
        ("la contraseña es {}", "la contraseña es [redacted:password]"),
        ("パスワードは {} です", "パスワードは [redacted:password] です"),
        ("postgres://ro:{}@db.example.net:5432/x", "postgres://ro:[redacted:url-password]@db.example.net:5432/x"),
        ("redis://:{}@cache:6379", "redis://:[redacted:url-password]@cache:6379"),
        ("curl -u ops:{} https://x.example", "curl -u ops:[redacted:basic-auth] https://x.example"),
        ("Authorization: Bearer {}", "Authorization: Bearer [redacted:authorization]"),
        ("Cookie: sid={}; theme=dark12", "Cookie: [redacted:cookie]"),
    ],
)
def test_a_secret_after_its_word_is_masked(text: str, kept: str) -> None:
    """Whatever the language, the sign between word and value, and the file format."""
    assert REDACT(text.format(TAIL)) == kept


@pytest.mark.parametrize(
    "text",
    [
        "password: use the vault",
        "The password is required and stored in 1Password.",
        "the password field is empty",
        "Passwords are hashed with argon2id.",
        "STRIPE_KEY lives in $STRIPE_KEY, the token in vault: secret/erp/prod",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "API_KEY=os.environ['X']",
        "password = getpass.getpass()",
        "password: string;",
        "secret: config.secret",
        "the token budget is 400, max_tokens=4096, tokens: 1500",
        "access token expires after 3600 s",
        "密码是必填项，数据库密码在 Vault 的 secret/erp/prod 下面",
        "口令不要写死，密钥统一放 KMS",
        "commit 3f9a1c7e5b2d8046a9c3e1f7d5b802643f9a1c7e",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha512-" + "aZ3kQ9xW2mT7vB4nR8cY1hL6dF5gJ0pS3uE9iO7oK2==",
        "http://localhost:8080/a@b and git@github.com:a/b.git, v1.2.3-rc.1",
        "bearer authentication is used",
        "Passwort ist falsch",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Hashes, ids, versions, places where a secret lives, and talk about secrets are kept."""
    assert REDACT(text) == text


def test_a_private_key_goes_whole_cut_off_or_on_one_line() -> None:
    """A key block is masked with its end, without one, and with its line breaks escaped."""
    head, body = "-----BEGIN OPENSSH PRIV" + "ATE KEY-----", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"
    end = "-----END OPENSSH PRIV" + "ATE KEY-----"
    for text in (f"{head}\n{body}\n{body}\n{end}", f"{head}\n{body}\n{body}", f"{head}\\n{body}\\n{end}"):
        assert REDACT(f"key: {text}") == "key: [redacted:private-key]"
    assert REDACT(f"{head}\n{body}\nplease install it") == "[redacted:private-key]\nplease install it"


def test_an_aws_pair_goes_with_its_secret_half() -> None:
    """The second half has no prefix of its own; it is known by its place."""
    pair = "AK" + "IA" + "Q3ZK7MX2VT9WL4BN" + " / " + "aZ3kQ9xW2mT7vB4nR8cY1hL6dF5gJ0pS3uE9iO7o"
    assert REDACT(f"use {pair} today") == "use [redacted:aws-key] today"


def test_addresses_are_masked_only_on_request() -> None:
    """Private IPs and e-mail addresses are masked by option, public addresses never."""
    text = "10.20.3.7, 192.168.1.9, 8.8.8.8, ops@example.org"
    assert REDACT(text) == text
    strict = Redactor(PrivacyConfig(mask_private_ips=True, mask_emails=True))
    assert strict.redact(text) == "[redacted:private-ip], [redacted:private-ip], 8.8.8.8, [redacted:email]"


def test_the_owner_adds_patterns_and_words() -> None:
    """`patterns` are regular expressions, `words` plain text in any case; marks are never masked themselves."""
    own = Redactor(PrivacyConfig(patterns=(r"CUST-\d+",), words=("Northwind", "redacted")))
    masked = own.redact("northwind has CUST-0815")
    assert masked == "[redacted:word] has [redacted:pattern]"
    assert own.redact(masked) == masked


@given(
    st.lists(
        st.sampled_from(
            ["password", ": ", "=", " ", TAIL, "token", "is", "@", "://", "ro:", "[redacted:x]", "\n", "密码", "是"]
        )
    )
)
@settings(max_examples=200, deadline=None)
def test_masking_twice_changes_nothing_more(parts: list[str]) -> None:
    """What comes out may be masked again, as imports and re-reads do."""
    once = REDACT("".join(parts))
    assert REDACT(once) == once


@pytest.mark.parametrize(
    "unit",
    ["We keep the token budget and the secret of api keys. ", "a", "Bearer ", "http://a:", "eyJaaaaaaaa.", "password: ", "token=",
     "password for a b c d e ", "-----BEGIN PRIV" + "ATE KEY-----\n", "<private>", "<recalld-memory ", "[fact, ", "密码是很重要的，", "a@"],
)  # fmt: skip
def test_time_is_linear(unit: str) -> None:
    """100 KB of anything, hostile or not, stays far below a second (about 50 ms on the slow machine)."""
    text = unit * (100_000 // len(unit))
    begun = time.thread_time()
    clean(REDACT(text))
    assert time.thread_time() - begun < 1.0


def test_broken_characters_go() -> None:
    """A lone surrogate, NUL, control characters and terminal colours leave valid text that every store takes."""
    cleaned = clean("a\ud83d b\x00c \x1b[31mred\x1b[0m\u202e d\r\ne\tf")
    assert cleaned == "a\ufffd bc red d\ne\tf"
    assert clean("\ud83d\ude00") == "\U0001f600"
    cleaned.encode()


def test_private_blocks_go_also_unclosed() -> None:
    """What stands in `<private>` is nobody's business; without an end it reaches to the end of the text."""
    assert clean("a <private>x\ny</private> b <PRIVATE> z").split() == ["a", "b"]
    assert "x" not in clean("&lt;private&gt;x&lt;/private&gt;")


BLOCK = '<recalld-memory project="p">\n- [fact, 2031-01-02] The port is 7071. (m-1a2b3c4d)\n</recalld-memory>'


@pytest.mark.parametrize(
    "text",
    [
        f"hi {BLOCK} there",
        f"hi\n```\n{BLOCK}\n```\nthere",
        "hi\n> " + BLOCK.replace("\n", "\n> ") + "\nthere",
        "hi " + BLOCK.replace("<", "&lt;").replace(">", "&gt;") + " there",
        "hi there " + BLOCK[:60],
        "hi there\n" + BLOCK.split("\n", 1)[1],
        "hi there\nAs remembered: The port is 7071. (m-1a2b3c4d)",
    ],
    ids=["whole", "fenced", "quoted", "escaped", "cut off behind", "cut off in front", "one line"],
)
def test_what_was_injected_is_not_captured_again(text: str) -> None:
    """Else memories would be learnt from themselves; however the block is quoted back, none of it is left."""
    left = clean(text)
    assert "7071" not in left
    assert "recalld-memory" not in left
    assert "hi" in left
    assert "there" in left


def test_other_markup_stays() -> None:
    """Only our own block is cut; brackets, dates and generics in a user's text are kept."""
    text = "List<private_key> and [2031-01-02] and <memory> and (m-x)"
    assert clean(text) == text
