"""Made-up secrets through a real daemon, its model and every command: none is found anywhere afterwards.

Each canary has a value of its own for each place it is put, so that a find names the leak. Nothing here is a secret or
looks like one in this file: all are put together when the tests run.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from conftest import Home
from model_stub import ModelStub, Script
from recalld.config import PrivacyConfig
from recalld.redact import Redactor
from test_daemon import hook, said

ALNUM = string.ascii_letters + string.digits


def value(place: str, length: int = 32, alphabet: str = ALNUM) -> str:
    """`length` characters that stand for a secret at `place`; the same each time."""
    stream = hashlib.shake_256(place.encode()).digest(length)
    text = "".join(alphabet[byte % len(alphabet)] for byte in stream)
    return text if alphabet != ALNUM else text[:-4] + "7kQ2"  # a digit in each, as generated keys have


def upper(place: str, length: int) -> str:
    return value(place, length, string.ascii_uppercase + string.digits)


def hexed(place: str, length: int) -> str:
    return value(place, length, "0123456789abcdef")


# Kind -> a text with the secret in it, for a place; the value itself is found again by `needles`.
KINDS: dict[str, Callable[[str], str]] = {
    "anthropic": lambda at: "sk-" + "ant-api03-" + value(at),
    "openai": lambda at: "sk-" + "proj-" + value(at),
    "aws": lambda at: "AK" + "IA" + upper(at, 16),
    "github": lambda at: "gh" + "p_" + value(at, 36),
    "github-fine": lambda at: "github_" + "pat_" + value(at, 40),
    "gitlab": lambda at: "gl" + "pat-" + value(at, 20),
    "stripe": lambda at: "sk_" + "live_" + value(at, 24),
    "slack": lambda at: "xox" + "b-2048-" + value(at, 24),
    "google": lambda at: "AI" + "za" + value(at, 35),
    "huggingface": lambda at: "h" + "f_" + value(at, 34),
    "npm": lambda at: "np" + "m_" + value(at, 36),
    "digitalocean": lambda at: "do" + "p_v1_" + hexed(at, 64),
    "jwt": lambda at: "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + value(at, 24) + "." + value(at + "s", 32),
    "private-key": lambda at: "-----BEGIN PRIV" + "ATE KEY-----\n" + value(at, 60) + "\n-----END PRIV" + "ATE KEY-----",
    "database-url": lambda at: "postgres://app:" + value(at, 18) + "@db.example.net:5432/shop",
    "password": lambda at: "pass" + "word: " + value(at, 14),
    "chinese-password": lambda at: "密" + "码是 " + value(at, 14),
    "bearer": lambda at: "Authorization: Bear" + "er " + value(at, 30),
    "cookie": lambda at: "Cookie: " + "sid=" + value(at, 30),
    "azure": lambda at: "Account" + "Key=" + value(at, 44) + "==",
    "basic": lambda at: "curl -u ops:" + value(at, 14) + " https://example.net",
    "telegram": lambda at: "123456789:" + "AA" + value(at, 33),
    "api-key": lambda at: "API_" + "KEY=" + value(at, 28),
}
IN_A_FOLDER = ("anthropic", "aws", "github", "stripe", "npm")
"""Those that a file's name can hold."""


def needle(kind: str, place: str) -> str:
    """What of the canary must not be found: its own letters, also where signs before them were changed (a slug)."""
    return max(re.findall(r"[A-Za-z0-9]+", KINDS[kind](f"{kind}/{place}")), key=len)[-16:].lower()


class Planted:
    """Every canary that was put somewhere."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str]] = []

    def text(self, kind: str, place: str) -> str:
        self.all.append((kind, place))
        return KINDS[kind](f"{kind}/{place}")

    def statements(self, place: str, share: int = 1, turn: int = 0) -> str:
        """The kinds, each in a sentence that is worth keeping, English and Chinese in turn.

        share: only each so many-th kind, beginning at `turn`: a model's answer may hold 40 operations.
        """
        return "\n".join(
            f"We decided that service {kind} uses {self.text(kind, place)} on port {7100 + number}."
            if number % 2
            else f"我们决定 {kind} 服务统一用 {self.text(kind, place)} ，端口 {7200 + number}。"
            for number, kind in list(enumerate(KINDS))[turn % share :: share]
        )

    def found_in(self, data: bytes) -> list[tuple[str, str]]:
        lowered = data.lower()
        return [(kind, place) for kind, place in self.all if needle(kind, place).encode() in lowered]


def records(session: str, cwd: Path, turns: list[dict[str, Any]]) -> bytes:
    """A transcript as Claude Code writes it."""
    lines = []
    for number, turn in enumerate(turns):
        common = {"sessionId": session, "cwd": str(cwd), "gitBranch": turn.get("branch", "main"), "entrypoint": "cli",
                  "isSidechain": False, "timestamp": "2026-11-30T03:00:00.000Z"}  # fmt: skip
        lines.append({**common, "type": "user", "promptId": turn["id"], "uuid": f"u{number}", "origin": {"kind": "human"},
                      "message": {"role": "user", "content": turn["prompt"]}})  # fmt: skip
        if "question" in turn:
            asked = {"questions": [{"question": turn["question"], "header": "h", "multiSelect": False, "options": []}]}
            content: list[dict[str, Any]] = [
                {"type": "tool_use", "id": f"q{number}", "name": "AskUserQuestion", "input": asked}
            ]
            message = {"id": f"n{number}", "role": "assistant", "content": content, "stop_reason": "tool_use"}
            lines.append({**common, "type": "assistant", "uuid": f"n{number}", "message": message})
            content = [{"type": "tool_result", "tool_use_id": f"q{number}", "content": f"answered: {turn['said']}"}]
            lines.append({**common, "type": "user", "uuid": f"r{number}", "promptId": turn["id"],
                          "message": {"role": "user", "content": content},
                          "toolUseResult": {**asked, "answers": {turn["question"]: turn["said"]}}})  # fmt: skip
        if "tool" in turn:
            content = [{"type": "tool_use", "id": f"b{number}", "name": "Bash", "input": {"command": turn["tool"]}}]
            message = {"id": f"t{number}", "role": "assistant", "content": content, "stop_reason": "tool_use"}
            lines.append({**common, "type": "assistant", "uuid": f"t{number}", "message": message})
            content = [{"type": "tool_result", "tool_use_id": f"b{number}", "content": turn["tool"]}]
            lines.append({**common, "type": "user", "uuid": f"o{number}", "promptId": turn["id"],
                          "message": {"role": "user", "content": content}, "toolUseResult": {"stdout": turn["tool"]}})  # fmt: skip
        message = {"id": f"m{number}", "role": "assistant", "content": [{"type": "text", "text": turn["answer"]}],
                   "stop_reason": "end_turn"}  # fmt: skip
        lines.append({**common, "type": "assistant", "uuid": f"a{number}", "message": message})
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def exported(planted: Planted) -> dict[str, Any]:
    """An export of another machine, made before any masking: secrets in every field that takes text."""
    when = "2026-01-01T00:00:00.000Z"
    step = {"version": 1, "action": "insert", "actor": "cli", "type": "fact", "status": "active", "at": when}
    return {
        "format": "recalld", "version": 1, "exported_at": when, "key": None, "conflicts": [],
        "projects": [{
            "ref": 1, "name": "shop " + planted.text("github", "import-name"), "created_at": when, "last_seen_at": when,
            "identities": ["remote:git.example.net/" + planted.text("gitlab", "import-remote") + "/shop"],
            "places": [{"path": "/srv/" + planted.text("npm", "import-path"), "device": 1, "inode": 2,
                        "last_seen_at": when}],
        }],
        "memories": [
            {
                "id": f"m-{number:020x}", "scope": "project", "project_ref": 1, "type": "fact",
                "content": f"Service {kind} uses {planted.text(kind, 'import')} here.",
                "tags": ["tech:" + planted.text("stripe", f"import-tag{number}")],
                "aliases": [planted.text("slack", f"import-alias{number}")], "source": "claude-code", "origin": "user",
                "source_session": "s", "confidence": 0.9, "status": "active", "pinned": False, "hit_count": 0,
                "useful_count": 0, "first_seen": when, "last_seen": when, "created_at": when, "updated_at": when,
                "version": 1, "branch": "fix/" + planted.text("github", f"import-branch{number}"),
                "history": [{**step, "content": "It was " + planted.text(kind, "import-history")}],
            }
            for number, kind in enumerate(KINDS, 1)
        ],
    }  # fmt: skip


def files_with(planted: Planted, folder: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """Every file below `folder` that holds a canary, also in its name."""
    return [
        (path.name, found)
        for path in folder.rglob("*")
        if path.is_file() and (found := planted.found_in(path.name.encode() + b"\n" + path.read_bytes()))
    ]


@pytest.mark.timeout(600)
def test_no_canary_is_found_anywhere(home: Home) -> None:
    """B82: 23 kinds in prompts, answers, answers to questions, tool output, paths, branches, remotes, the spool, `add`,
    tags, import files and the model's error; grepped in all files, the model's requests, what Claude is given, and what
    the commands print. What the sentences say besides is kept."""
    planted = Planted()
    for kind, made in KINDS.items():
        assert Redactor(PrivacyConfig()).redact(made(kind)) != made(kind)
    key = "sk-" + "ant-own-" + value("own key")
    said_out: list[str] = []
    with ModelStub() as model:
        home.recalld.mkdir()
        (home.root / "key").write_text(key)
        (home.root / "key").chmod(0o600)
        settings = f'[extract]\nbackend = "anthropic"\nbase_url = "{model.url}"\napi_key_file = "{home.root / "key"}"\n'
        (home.recalld / "config.toml").write_text(settings + "max_calls_per_day = 0\nmax_usd_per_day = 0\n")
        remote = f"https://ci:{planted.text('github', 'remote-user')}@git.example.net/{planted.text('gitlab', 'remote')}/shop"
        (home.project / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}.git\n')
        branch = "fix/" + planted.text("github", "branch")
        (home.project / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        # Spooled while nobody answers, taken in when somebody does.
        hook(home, "prompt", said(home, "prompt", "p0", prompt=planted.statements("spooled prompt")))
        hook(home, "stop", said(home, "stop", "p0", last_assistant_message=planted.statements("spooled answer")))
        assert files_with(planted, home.recalld / "spool")
        running = home.start_daemon()
        until("the spool is taken in", lambda: not list(home.paths.spool.glob("*.hook")))

        folders = [home.root / "work" / planted.text(kind, "folder") for kind in IN_A_FOLDER]
        folders.append(home.project)
        for number, folder in enumerate(folders):
            folder.mkdir(parents=True, exist_ok=True)
            session = f"f{number}"
            slug = str(folder).replace("/", "-").replace("_", "-")
            transcript = home.claude / "projects" / slug / f"{session}.jsonl"
            transcript.parent.mkdir(parents=True, exist_ok=True)
            turn = {
                "id": f"p{number + 1}", "prompt": planted.statements(f"prompt{number}", 2, number), "branch": branch,
                "answer": "I noted that " + planted.statements(f"answer{number}"),
                "question": "Which one, " + planted.text("stripe", f"question{number}") + "?",
                "said": planted.statements(f"reply{number}", 4, number), "tool": planted.statements(f"tool{number}"),
            }  # fmt: skip
            heard = {**turn, "id": f"t{number}", "prompt": planted.statements(f"unheard{number}", 2, number + 1),
                     "answer": planted.statements(f"unheard answer{number}")}  # fmt: skip
            transcript.write_bytes(records(session, folder, [turn, heard]))
            more = {"cwd": str(folder), "transcript_path": str(transcript)}
            for event, fields in (
                ("session-start", {"source": "startup"}),
                ("prompt", {"prompt": turn["prompt"]}),
                ("stop", {"last_assistant_message": turn["answer"]}),
            ):
                done = hook(home, event, said(home, event, turn["id"], session, **fields) | more)
                assert done.returncode == 0
                said_out.append(done.stdout.decode())

        long = "We decided that the vault is " + planted.text("password", "add")
        tag = "tech:" + planted.text("github", "add-tag")
        added = home.json("add", long, "--tag", tag)["id"]
        home.json("edit", added, "The vault is opened with " + planted.text("openai", "edit"))
        home.json("projects", "name", str(home.project), "shop " + planted.text("slack", "project-name"))
        file = home.root / "import.json"
        file.write_text(json.dumps(exported(planted)))
        said_out.append(home.run("import", str(file)).stdout)
        past = home.claude / "projects" / "-old" / "past.jsonl"
        past.parent.mkdir()
        turns = [{"id": "old1", "prompt": planted.statements("past"), "answer": planted.statements("past answer")}]
        past.write_bytes(records("past", home.project, turns))
        said_out.append(home.run("import", "transcripts", str(past), "--yes").stdout)

        def quiet() -> bool:
            jobs = home.client.call("status")["jobs"]
            return bool(jobs["ready"] + jobs["running"] + jobs["dead"] == 0 and jobs["done"] >= len(folders) + 2)

        until("everything is learnt", quiet)
        model.scripts.append(
            Script("", status=401, body=json.dumps({"error": {"type": "authentication_error", "message":
                   f"invalid key {key} and {planted.text('openai', 'error')}"}}), extraction=True)
        )  # fmt: skip
        seen = len(model.requests)
        hook(home, "prompt", said(home, "prompt", "last", "s5", prompt="We decided that the door is blue, port 9100."))
        hook(home, "stop", said(home, "stop", "last", "s5", last_assistant_message="ok"))
        model.wait_for(seen + 1)
        until("the refusal shows", lambda: "401" in json.dumps(home.client.call("status")))
        done = hook(home, "prompt", said(home, "prompt", "asked", "s9", prompt="which port does the aws service use?"))
        said_out.append(done.stdout.decode())

        ids = [row["id"] for row in home.json("list", "--project", "all", "--limit", "500")]
        assert len(ids) > len(KINDS)
        for words in (
            ["list", "--project", "all", "--json"], ["list", "--project", "all", "--status", "all"], ["inbox"],
            ["search", "service port", "--json"], ["show", added], ["history", added], ["why"], ["why", "--json"],
            ["stats"], ["conflicts"], ["projects"], ["projects", "--json"], ["tags"], ["status", "--json"], ["status"],
            ["logs"], ["doctor"], ["maintain", "--json"], ["backup"],
            *(["export", "--project", "all", "--format", form] for form in ("json", "jsonl", "markdown")),
        ):  # fmt: skip
            shown = home.run(*words)
            said_out += [shown.stdout, shown.stderr]
        for form in ("json", "jsonl", "markdown"):
            home.run("export", "--format", form, "--output", str(home.recalld / f"out.{form}"))
        assert list(home.paths.backups.glob("*.db"))
        assert (home.recalld / "memories.db-wal").exists()
        assert files_with(planted, home.recalld) == []
        running.stop()
        assert files_with(planted, home.recalld) == []
    assert len(model.requests) > len(folders)
    sent = json.dumps([request.body for request in model.requests], ensure_ascii=False)
    assert planted.found_in(sent.encode()) == []
    printed = "\n".join(said_out)
    assert planted.found_in(printed.encode()) == []
    assert key not in printed
    for path in home.recalld.rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path
    # What is no secret went through: the words around it, in both languages, to the model and into the store.
    assert "端口 72" in sent and "on port 71" in sent
    assert "mcp__" not in printed and "service" in printed and "recalld-memory" in printed


PAGE = [
    "commit 3f9a1c7e5b2d8046a9c3e1f7d5b802643f9a1c7e fixes #4821, see also 9fceb02 and a1b2c3d.",
    "The request id is 550e8400-e29b-41d4-a716-446655440000, the span 00f067aa0ba902b7.",
    "We pin numpy==2.1.3, node v20.11.1, rc 1.2.3-beta.4+build.5678 and python:3.12-slim@sha256:"
    + "ab12cd34" * 8
    + ".",
    "The integrity is sha512-" + value("lock", 86) + "==, as package-lock.json says.",
    "Files are named avatar_" + value("image", 24) + ".png and logo-base64-" + value("image2", 20) + ".svg.",
    "The password field is validated in SignupForm; a password must have 12 characters.",
    "The token budget is 400, max_tokens=4096, token_count: 1500, tokens per minute: 90000.",
    "The Stripe key lives in $STRIPE_KEY, the other in ${PAYMENT_TOKEN}; ask vault kv get secret/data/shop/prod.",
    "password: ${DB_PASSWORD}, token: {{ .Values.token }}, secret: !Ref ApiSecret, apiKey: process.env.API_KEY",
    "op://Private/Stripe/api-key and arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-x1Y2z3 are the places.",
    "The primary key is (tenant_id, order_id); the foreign key and the sort key are indexed; API keys rotate monthly.",
    "Authentication uses bearer tokens; the authorization header is checked in middleware/auth.ts line 42.",
    "curl -sS http://localhost:8080/health, ssh -p 2222 deploy@host, git@github.com:acme/shop.git, redis://cache:6379/0",
    "import { getSecret } from './secrets'; const token = await getToken(); if (!password) throw new Error('x');",
    "UPDATE users SET password_hash = crypt($1, gen_salt('bf')) WHERE id = 42;",
    "The cookie banner, the session cookie policy and the secret santa list are separate pages.",
    "The IPs 10.0.0.1 and 192.168.1.20, port 5432, mail ops@example.org, MAC 00:1A:2B:3C:4D:5E stay as they are.",
    "Colours #ff8800, dates 2026-11-30T04:00:00Z, sizes 1920x1080, hex 0xDEADBEEF, regex ^[a-z0-9_-]{3,16}$.",
    "密码字段必须校验长度，令牌预算是 400，密钥放在 vault 的 secret/erp/prod 下面，不要写进代码。",
    "口令策略：至少 12 位；令牌过期时间为 3600 秒；数据库密码从环境变量 DB_PASSWORD 读取。",
    "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。提交号 9fceb02 和版本 v2.3.1 保持不变。",
    "我们统一用 pnpm，日志写到 Loki，镜像是 registry.example.net/shop/api:2026.11.30-9fceb02。",
    "El token de acceso caduca en 3600 s; das Passwort steht im Vault; le mot de passe est obligatoire.",
]


@pytest.mark.parametrize("line", PAGE, ids=range(len(PAGE)))
def test_ordinary_developer_text_keeps_every_word(line: str) -> None:
    """Hashes, ids, versions, the places where secrets live, and talk about secrets are what memories are made of."""
    assert Redactor(PrivacyConfig()).redact(line) == line


def test_ordinary_text_arrives_whole_in_the_store(home: Home) -> None:
    """The same page as memories: as it went in, so it comes out."""
    running = home.start_daemon()
    kept = [home.json("add", line)["content"] for line in PAGE[:6]]
    running.stop()
    assert kept == PAGE[:6]
