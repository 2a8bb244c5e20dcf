"""`project.locate`: a folder's project, told from files alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.config import ProjectsConfig
from recalld.project import Excluded, Place, locate
from recalld.project.remote import parse_remote

DEFAULTS = ProjectsConfig()
SEPARATE = ProjectsConfig(worktrees="separate")
GIT_ENV = {
    **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(command, cwd=folder, env=GIT_ENV, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path, remote: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return folder(tmp_path / "home" / "ann")


def found(cwd: Path, home: Path, config: ProjectsConfig = DEFAULTS) -> Place:
    place = locate(cwd, config, home)
    assert isinstance(place, Place)
    return place


# Where there is no project -------------------------------------------------------------------------------------------


def test_home_what_holds_it_root_and_temp_are_no_project(home: Path) -> None:
    """B46: only the user scope applies in $HOME, above it, in / and in the temp folder itself."""
    for cwd in (home, home.parent, Path("/"), Path("/tmp"), Path("/var/tmp")):
        assert locate(cwd, DEFAULTS, home) is None


def test_dotfiles_repository_in_home_claims_nothing(home: Path) -> None:
    """With ~/.git, $HOME stays no project and a folder below is itself."""
    git(home, "init", "-q")
    (home / ".recalld.toml").write_text('project = "everything"')
    assert locate(home, DEFAULTS, home) is None
    notes = found(folder(home / "notes"), home)
    assert (notes.kind, notes.name) == ("folder", "notes")


def test_deleted_relative_or_impossible_cwd_is_no_project(home: Path) -> None:
    """A cwd that is gone, relative, a file or no path at all gives None and no error."""
    (home / "file").touch()
    (home / "loop").symlink_to(home / "loop")
    for cwd in (home / "gone", Path("relative"), Path(), home / "file", home / "loop", Path("/a\0b"), Path("/\ud800")):
        assert locate(cwd, DEFAULTS, home) is None


def test_what_lies_in_a_folder_open_to_all_claims_nothing(home: Path, tmp_path: Path) -> None:
    """A repository or `.recalld.toml` in a sticky, world-writable folder does not take in what is below."""
    commons = folder(tmp_path / "commons")
    git(commons, "init", "-q")
    (commons / ".recalld.toml").write_text('project = "trap"')
    commons.chmod(0o1777)
    assert locate(commons, DEFAULTS, home) is None
    assert found(folder(commons / "mine"), home).root == str(commons / "mine")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_strangers_files_above_claim_nothing(home: Path, tmp_path: Path) -> None:
    """A `.recalld.toml` or repository of another user above a folder of ours is passed over."""
    top = repository(tmp_path / "top")
    (top / ".recalld.toml").write_text('project = "trap"')
    mine = folder(top / "mine")
    os.chown(top / ".recalld.toml", 4321, 4321)
    assert found(mine, home).kind == "git"
    os.chown(top, 4321, 4321)
    assert found(mine, home).root == str(mine)


# Folders and repositories --------------------------------------------------------------------------------------------


def test_a_deep_folder_of_a_repository_is_the_repository(home: Path) -> None:
    """B39: a monorepo's subfolder is its repository, with branch, commit and the first commit."""
    top = repository(home / "w" / "api")
    deep = found(folder(top / "src" / "deep" / "er"), home)
    assert deep == found(top, home)
    assert (deep.kind, deep.root, deep.name, deep.branch) == ("git", str(top), "api", "main")
    assert deep.commit == git(top, "rev-parse", "HEAD")
    assert deep.first_commit is not None
    assert deep.first_commit.startswith(deep.commit)
    assert (deep.device, deep.inode) == (top.stat().st_dev, top.stat().st_ino)
    assert found(top / ".git" / "refs", home).root == str(top)


def test_a_folder_of_three_repositories_is_none_of_them(home: Path) -> None:
    """The parent folder is its own place; each repository below stays what it is."""
    tops = [repository(home / "code" / name) for name in ("a", "b", "c")]
    roots = {found(path, home).root for path in (home / "code", *tops)}
    assert roots == {str(home / "code"), *map(str, tops)}


@pytest.mark.parametrize("name", ["실험", "기록", "my_app", "my-app", "my.app", "a b", "café"])
def test_names_are_kept_as_they_are(home: Path, name: str) -> None:
    """No character of a folder's name is folded into another."""
    place = found(folder(home / "p" / name), home)
    assert (place.name, place.root) == (name, str(home / "p" / name))


def test_a_name_of_no_text_is_made_safe(home: Path) -> None:
    """Control characters and bytes that are no UTF-8 neither reach a name nor break it."""
    assert found(folder(home / "a\n<b>\x1b[0m"), home).name == "a <b> [0m"
    raw = os.fsencode(home) + b"/\xff\xfe"
    Path(os.fsdecode(raw)).mkdir()
    place = found(Path(os.fsdecode(raw)), home)
    assert place.root.encode() == os.fsencode(home) + rb"/\xff\xfe"


def test_a_symlink_leads_to_the_same_place(home: Path) -> None:
    """B43: a symlinked cwd, or one behind a symlinked home, gives the real root."""
    top = repository(home / "real")
    (home / "link").symlink_to(top)
    (home.parent / "alias").symlink_to(home)
    assert (
        found(home / "link", home) == found(home.parent / "alias" / "real", home.parent / "alias") == found(top, home)
    )


def test_case_makes_two_folders_where_the_file_system_says_so(home: Path) -> None:
    """On a case-sensitive file system two spellings are two places."""
    folder(home / "Code")
    if (home / "code").exists():
        pytest.skip("this file system takes both for one")
    assert found(home / "Code", home).root != found(folder(home / "code"), home).root


def test_head_is_read_wherever_git_keeps_it(home: Path) -> None:
    """Detached, unborn, packed and slashed branches; a reftable leaves both unknown."""
    top = repository(home / "repo")
    commit = git(top, "rev-parse", "HEAD")
    git(top, "checkout", "-q", "-b", "feature/x")
    git(top, "pack-refs", "--all")
    assert (found(top, home).branch, found(top, home).commit) == ("feature/x", commit)
    git(top, "checkout", "-q", "--detach")
    assert (found(top, home).branch, found(top, home).commit) == (None, commit)
    (top / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    assert (found(top, home).branch, found(top, home).commit) == (None, None)
    git(folder(home / "new"), "init", "-q")
    assert (found(home / "new", home).branch, found(home / "new", home).commit) == ("main", None)


def test_jj_and_hg_roots(home: Path) -> None:
    """jj (also beside git, and a second workspace) and hg (also a share) are found, with what they tell."""
    store = folder(home / "j" / ".jj" / "repo" / "store" / "git")
    (store / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/j.git\n')
    (store.parent / "git_target").write_text("git")
    place = found(folder(home / "j" / "src"), home)
    assert (place.kind, place.root, place.identities) == ("jj", str(home / "j"), ("remote:github.com/acme/j",))
    folder(home / "j2" / ".jj").joinpath("repo").write_text("../../j/.jj/repo")
    second = found(home / "j2", home)
    assert (second.root, second.worktree) == (str(home / "j"), "j2")

    hg = folder(home / "h" / ".hg")
    (hg / "hgrc").write_text("[ui]\nusername = x\n[paths]\ndefault = https://u:p@hg.example.org/h\n")
    (hg / "branch").write_text("stable\n")
    (hg / "dirstate").write_bytes(bytes(range(40)))
    place = found(home / "h", home)
    assert (place.kind, place.branch, place.commit) == ("hg", "stable", bytes(range(20)).hex())
    assert place.identities == ("remote:hg.example.org/h",)
    folder(home / "h2" / ".hg").joinpath("sharedpath").write_text(str(hg))
    assert found(home / "h2", home).root == str(home / "h")


# Worktrees and submodules --------------------------------------------------------------------------------------------


def test_linked_worktrees_belong_to_the_main_repository(home: Path) -> None:
    """By default every worktree is the main repository, and says which one it is and where it stands."""
    top = repository(home / "shop", "git@github.com:acme/shop.git")
    git(top, "worktree", "add", "-q", "-b", "one", ".claude/worktrees/one")
    git(top, "worktree", "add", "-q", "-b", "two", "../two")
    git(home / "two", "commit", "-q", "--allow-empty", "-m", "second")
    main, one, two = (found(p, home) for p in (top, top / ".claude/worktrees/one", home / "two"))
    for linked in (one, two):
        same = (linked.root, linked.identities, linked.device, linked.inode, linked.first_commit, linked.name)
        assert same == (main.root, main.identities, main.device, main.inode, main.first_commit, main.name)
    assert [(p.worktree, p.branch) for p in (main, one, two)] == [(None, "main"), ("one", "one"), ("two", "two")]
    assert two.commit == git(home / "two", "rev-parse", "HEAD") != main.commit


def test_separate_worktrees_are_places_of_their_own(home: Path) -> None:
    """With `separate` a linked worktree has its own root and shares no identity; the main one keeps its own."""
    top = repository(home / "shop", "git@github.com:acme/shop.git")
    (top / ".recalld.toml").write_text('project = "shop"')
    git(top, "worktree", "add", "-q", ".claude/worktrees/one")
    one = found(folder(top / ".claude/worktrees/one/src"), home, SEPARATE)
    assert (one.root, one.identities, one.worktree) == (str(top / ".claude/worktrees/one"), (), "one")
    assert found(top, home, SEPARATE).identities == ("name:shop",)


def test_one_worktree_may_name_itself(home: Path) -> None:
    """A `.recalld.toml` in one worktree gives it its own name; the others keep sharing, the main one's name included."""
    top = repository(home / "shop", "git@github.com:acme/shop.git")
    (top / ".recalld.toml").write_text('project = "Shop"')
    git(top, "worktree", "add", "-q", "../one")
    git(top, "worktree", "add", "-q", "../two")
    (home / "one" / ".recalld.toml").write_text('project = "experiment"')
    one, two = found(home / "one", home), found(home / "two", home)
    assert (one.root, one.identities, one.worktree, one.branch) == (
        str(home / "one"), ("name:experiment",), "one", "one",
    )  # fmt: skip
    assert (two.root, two.identities, two.name) == (str(top), ("name:shop",), "Shop")


def test_bare_repository_with_worktrees_beside_it(home: Path) -> None:
    """`proj/.bare` with `proj/.git` pointing at it: the folder and all its worktrees are one place."""
    source = repository(home / "source")
    git(home, "clone", "-q", "--bare", str(source), str(folder(home / "proj") / ".bare"))
    (home / "proj" / ".git").write_text("gitdir: ./.bare\n")
    git(home / "proj", "worktree", "add", "-q", "main")
    assert {found(p, home).root for p in (home / "proj", home / "proj" / "main")} == {str(home / "proj")}
    git(home, "clone", "-q", "--bare", str(source), "plain.git")
    git(home / "plain.git", "worktree", "add", "-q", "../plain-main")
    assert found(home / "plain-main", home).root == str(home / "plain.git")


@pytest.mark.parametrize("absorbed", [True, False])
def test_a_submodule_is_its_own_project(home: Path, absorbed: bool) -> None:
    """B42: a submodule has its own root and identity, never a path under .git/modules, also in a worktree of it."""
    repository(home / "lib")
    top = repository(home / "super", "https://example.org/super")
    if absorbed:
        git(top, "submodule", "add", "-q", str(home / "lib"), "vendor/lib")
    else:
        git(home, "clone", "-q", str(home / "lib"), str(top / "vendor" / "lib"))
    git(top / "vendor" / "lib", "remote", "set-url", "origin", "https://example.org/lib.git")
    module = found(folder(top / "vendor" / "lib" / "src"), home)
    assert (module.root, module.identities) == (str(top / "vendor" / "lib"), ("remote:example.org/lib",))
    assert (module.worktree, module.branch) == (None, "main")
    git(top / "vendor" / "lib", "worktree", "add", "-q", str(home / "lib-two"))
    assert found(home / "lib-two", home).root == module.root


@pytest.mark.parametrize(
    "text", ["gitdir: /nowhere/at/all\n", "gitdir:", "", "nonsense", "gitdir: \x00", "gitdir: .git"]
)
def test_a_broken_gitdir_makes_a_plain_folder(home: Path, text: str) -> None:
    """B42: a `.git` file that leads nowhere keeps its folder a stable place, inside another repository too."""
    top = repository(home / "super")
    module = folder(top / "vendor" / "lib")
    (module / ".git").write_text(text)
    place = found(folder(module / "src"), home)
    assert (place.root, place.kind, place.identities) == (str(module), "folder", ())


# Names given by hand -------------------------------------------------------------------------------------------------


def test_the_longest_path_of_the_map_wins(home: Path) -> None:
    """`[projects] map` comes before everything, by whole path parts, through symlinks, and even for $HOME."""
    top = repository(home / "work" / "shop" / "api")
    (top / ".recalld.toml").write_text('project = "file"')
    (home / "s").symlink_to(home / "work" / "shop")
    config = ProjectsConfig(
        map={"~/work": "work", "~/s": "shop", "~/work/sho": "no", "relative": "no", "~/work/shop/": ""}
    )
    place = found(top, home, config)
    assert (place.kind, place.root, place.identities) == ("map", str(home / "work" / "shop"), ("name:shop",))
    assert place.branch == "main"
    assert found(folder(home / "work" / "x"), home, config).name == "work"
    assert found(home, home, ProjectsConfig(map={"~": "all of it"})).name == "all of it"


def test_project_file_in_the_folder_or_above(home: Path) -> None:
    """The innermost `.recalld.toml` names the project, above a repository too."""
    group = folder(home / "group")
    (group / ".recalld.toml").write_text('\ufeffproject = "  Big\\nOne "')
    top = repository(group / "repo", "https://example.org/repo")
    place = found(folder(top / "src"), home)
    assert (place.kind, place.root, place.name, place.identities) == ("file", str(group), "Big One", ("name:big one",))
    (top / ".recalld.toml").write_text('project = "small"')
    assert found(top, home).root == str(top)


@pytest.mark.parametrize(
    "content",
    [b"", b"project = 3", b"project = ''", b"project", b"\xff\xfe", b"project = " + b"[" * 9000, b'project = "' + b"x" * 20000],
)  # fmt: skip
def test_an_unusable_project_file_is_passed_over(home: Path, content: bytes) -> None:
    """Wrong, hostile or huge, it changes nothing."""
    top = repository(home / "repo")
    (top / ".recalld.toml").write_bytes(content)
    assert found(top, home).kind == "git"


def test_a_project_file_is_never_followed_out(home: Path) -> None:
    """A symlink is not followed, and a FIFO or folder of that name does not block."""
    top = repository(home / "repo")
    (home / "elsewhere.toml").write_text('project = "elsewhere"')
    (top / ".recalld.toml").symlink_to(home / "elsewhere.toml")
    assert found(top, home).kind == "git"
    (top / ".recalld.toml").unlink()
    os.mkfifo(top / ".recalld.toml")
    assert found(top, home).kind == "git"


# Hostile repositories ------------------------------------------------------------------------------------------------


def test_a_fifo_or_empty_folder_named_git_is_none(home: Path) -> None:
    """As for git itself, these are no repository; the search goes on upward, and nothing blocks."""
    top = repository(home / "repo")
    os.mkfifo(folder(top / "a") / ".git")
    folder(top / "b" / ".git")
    assert found(top / "a", home).root == found(top / "b", home).root == str(top)


def test_fifos_inside_a_repository_do_not_block(home: Path) -> None:
    """HEAD, config, packed-refs or the log as FIFO: unknown, at once."""
    dot_git = folder(home / "repo" / ".git")
    for name in ("HEAD", "config", "packed-refs", "commondir"):
        os.mkfifo(dot_git / name)
    os.mkfifo(folder(dot_git / "logs") / "HEAD")
    place = found(home / "repo", home)
    assert (place.kind, place.branch, place.commit, place.identities) == ("git", None, None, ())


@pytest.mark.parametrize(
    "ref", ["refs/../../secret", "refs/heads/" + "x" * 9000, "refs/heads/a\x1bb", "/etc/passwd", ""]
)
def test_a_hostile_head_tells_nothing(home: Path, ref: str) -> None:
    """HEAD can name no file outside and no odd branch."""
    dot_git = folder(home / "repo" / ".git")
    (home / "secret").write_text("a" * 40)
    (dot_git / "HEAD").write_text(f"ref: {ref}\n")
    place = found(home / "repo", home)
    assert place.commit is None
    assert place.branch is None or place.branch == "x" * 80


def test_a_huge_config_is_read_to_its_bound(home: Path) -> None:
    """Megabytes of config cost little, and the remote at its head is found."""
    top = repository(home / "repo", "https://example.org/repo")
    with (top / ".git" / "config").open("a") as file:
        for number in range(120_000):
            file.write(f'[branch "b{number}"]\n\tremote = origin\n')
    began = time.thread_time()
    assert found(top, home).identities == ("remote:example.org/repo",)
    assert time.thread_time() - began < 1


def test_config_grammar(home: Path) -> None:
    """Case, quotes, comments, escapes and several sections; includes and insteadOf are not followed."""
    top = repository(home / "repo")
    (home / "more").write_text('[remote "origin"]\n url = https://evil.example/x\n')
    (top / ".git" / "config").write_text(
        f'[include]\n\tpath = {home}/more\n[url "https://evil.example/"]\n\tinsteadOf = https://example.org/\n'
        '# [remote "origin"]\n[Remote "zeta"] URL = https://example.org/zeta\n'
        '[remote "origin"]\n\tfetch = +refs/*\n\tpushurl = https://example.org/push\n'
        '[REMOTE "origin"]\n\tUrl = "https://example.org/a#b/repo.git" ; said so\n'
        '[remote "ups\\"tream"]\n\turl = x\n'
    )
    assert found(top, home).identities == ("remote:example.org/a",)


def test_which_remote(home: Path) -> None:
    """`origin`, else `upstream`, else the first by name; one that names no repository is passed over."""
    top = repository(home / "repo")
    for name in ("beta", "alpha", "upstream", "origin"):
        git(top, "remote", "add", name, f"https://example.org/{name}")
        assert found(top, home).identities == (f"remote:example.org/{name}",)
    git(top, "remote", "set-url", "origin", "ext::sh -c x")
    git(top, "config", "remote.origin.url", "https://user:a/b@example.org/x")
    assert found(top, home).identities == ("remote:example.org/upstream",)


def test_permission_denied_is_unknown() -> None:
    """A repository that may not be read still is the place of all its folders."""
    with tempfile.TemporaryDirectory() as base:
        home = Path(base)
        top = repository(home / "repo", "https://example.org/repo")
        deep = folder(top / "src")
        (top / ".git").chmod(0)
        home.chmod(0o755)
        with nobody():
            place = found(deep, home / "none")
        (top / ".git").chmod(0o700)
    assert (place.kind, place.root, place.identities, place.commit) == ("git", str(top), (), None)


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Without root's rights where the tests run as root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


# Remotes -------------------------------------------------------------------------------------------------------------

SAFE = "abcdefghijklmnopqrstuvwxyzABCDEF0123456789-_"
part = st.text(SAFE, min_size=1, max_size=12).filter(lambda s: not s.lower().endswith(".git"))
host = st.builds(
    "{}.{}".format, st.text("abcxyz09", min_size=1, max_size=9), st.sampled_from(["com", "org", "example"])
)


@given(
    host, st.lists(part, min_size=1, max_size=4), st.text(SAFE + "%!:", min_size=1, max_size=9), st.integers(1, 65535)
)
def test_all_spellings_of_a_remote_agree(name: str, parts: list[str], secret: str, port: int) -> None:
    """Scheme, user, password, port, case of the host, `.git` and slashes make no difference and leave no trace."""
    path = "/".join(parts)
    spellings = [
        f"https://{name}/{path}",
        f"https://{name}/{path}.git",
        f"https://{name.upper()}/{path}/",
        f"http://user:{secret}@{name}:{port}//{path}.git/",
        f"https://{secret}@{name}/{path}?private_token=zzqqzz#x",
        f"ssh://git@{name}:{port}/{path}.git",
        f"git+ssh://git@{name}/{path}",
        f"git://{name}./{path}",
        f"git@{name}:{path}.git",
        f"git@{name}:/{path}/",
        f"{name}:{path}",
        f"[{name}:{port}]:{path}",
        f"[git@{name}:{port}]:{path}",
    ]
    known = [parse_remote(url, "/w") for url in spellings]
    assert {remote and remote.identity for remote in known} == {f"remote:{name}/{path}"}


@given(st.text(max_size=80))
def test_any_text_as_remote_is_harmless(url: str) -> None:
    """No error, and an identity is one line of bounded length that UTF-8 can hold."""
    known = parse_remote(url, "/w")
    assert known is None or (known.identity.encode() and "\n" not in known.identity)


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("git@GitHub.com:Acme/Shop.git", "remote:github.com/acme/shop"),
        ("ssh://git@ssh.github.com:443/acme/shop.git", "remote:github.com/acme/shop"),
        ("https://git.example.org/Acme/Shop", "remote:git.example.org/Acme/Shop"),
        ("git@ssh.dev.azure.com:v3/org/proj/repo", "remote:dev.azure.com/org/proj/repo"),
        ("https://org@dev.azure.com/org/proj/_git/repo", "remote:dev.azure.com/org/proj/repo"),
        ("ssh://git@[::1]:2222/x/y.git", "remote:::1/x/y"),
        ("https://example.org/caf%C3%A9/a%20b.git", "remote:example.org/café/a b"),
        ("gcrypt::https://example.org/x", "remote:example.org/x"),
        ("/srv/git/x.git", "remote:file/srv/git/x"),
        ("file:///srv/git/x.git/", "remote:file/srv/git/x"),
        ("../git/x", "remote:file/git/x"),
        ("./here:there", "remote:file/w/here:there"),
        ("/srv/x/.git", "remote:file/srv/x"),
        ("https://user:a/b@example.org/x", None),
        ("https://user:12/b@example.org/x", None),
        ("https://example.org/", None),
        ("https:///x", None),
        ("https://example.org/a/../../b", None),
        ("http://[bad/x", None),
        ("a\nb:c", None),
        ("", None),
        ("/", None),
        ("https://example.org/" + "x" * 5000, None),
    ],
)
def test_remote_forms(url: str, identity: str | None) -> None:
    """Special hosts, paths and what cannot be told apart from a password."""
    known = parse_remote(url, "/w")
    assert (known and known.identity) == identity


# include and exclude -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "path", "hit"),
    [
        ("~/secret", "secret/deep", True),
        ("~/secret", "secrets", False),
        ("~/work/*", "work/a/b", True),
        ("~/work/*", "work", False),
        ("~/work/**", "work", True),
        ("~/**/private", "a/b/private/c", True),
        ("client-?", "x/client-7/y", True),
        ("client-[!ab]", "client-a", False),
        ("client-[a-c]", "client-b", True),
        ("work/a*", "x/work/abc", True),
        ("*.tmp", "x.tmpl", False),
        ("[", "[", True),
    ],
)
def test_globs(home: Path, glob: str, path: str, hit: bool) -> None:
    """A glob takes in the folder and all below; `exclude` keeps recalld out, `include` out of all else."""
    cwd = folder(home / path)
    assert isinstance(locate(cwd, ProjectsConfig(exclude=(glob,)), home), Excluded) == hit
    assert isinstance(locate(cwd, ProjectsConfig(include=(glob,)), home), Excluded) != hit
    assert isinstance(locate(cwd, ProjectsConfig(include=(glob,), exclude=(glob,)), home), Excluded)


def test_exclude_holds_through_a_symlink_and_for_home(home: Path) -> None:
    """Neither the link's nor the target's spelling gets around it, and it covers places without a project."""
    folder(home / "private" / "x")
    (home / "open").symlink_to(home / "private")
    assert isinstance(locate(home / "open" / "x", ProjectsConfig(exclude=("~/private",)), home), Excluded)
    assert isinstance(locate(home / "open" / "x", ProjectsConfig(exclude=("~/open",)), home), Excluded)
    assert isinstance(locate(home / "private" / "x", ProjectsConfig(exclude=("~/open/*",)), home), Excluded)
    assert isinstance(locate(home, ProjectsConfig(exclude=("~",)), home), Excluded)


def test_exclude_holds_for_deleted_folders_and_linked_worktrees(home: Path) -> None:
    """What was excluded stays so when it is deleted, and a worktree elsewhere is no way into it."""
    config = ProjectsConfig(exclude=("~/private",))
    assert isinstance(locate(home / "private" / "gone", config, home), Excluded)
    git(repository(home / "private" / "repo"), "worktree", "add", "-q", str(home / "open"))
    assert isinstance(locate(home / "open", config, home), Excluded)


def test_reading_never_starts_git(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any program on the PATH the answer is the same, and a deep cwd takes well under a millisecond."""
    top = repository(home / "repo", "git@github.com:acme/repo.git")
    deep = folder(top / "a" / "b" / "c" / "d" / "e" / "f")
    monkeypatch.setenv("PATH", "/nonexistent")
    shutil.rmtree(top / ".git" / "objects")
    assert found(deep, home).identities == ("remote:github.com/acme/repo",)
    times = []
    for _ in range(50):
        began = time.thread_time()
        locate(deep, DEFAULTS, home)
        times.append(time.thread_time() - began)
    assert min(times) < 0.001
