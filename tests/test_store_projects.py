"""`store.projects`: the same project stays the same, two projects never meet, and people can put it right."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from recalld.config import ProjectsConfig
from recalld.errors import InputError
from recalld.project import Place, locate
from recalld.store import projects
from recalld.store.migrate import scripts
from test_project import folder, git, repository


class World:
    """A home folder and an empty database."""

    def __init__(self, base: Path) -> None:
        self.home = folder(base / "home" / "ann")
        self.db = apsw.Connection(":memory:")
        self.db.pragma("foreign_keys", True)
        for script in scripts():
            self.db.execute(script)

    def place(self, cwd: Path, config: ProjectsConfig | None = None) -> Place:
        place = locate(cwd, config or ProjectsConfig(), self.home)
        assert isinstance(place, Place)
        return place

    def project(self, cwd: Path, config: ProjectsConfig | None = None, now: datetime | None = None) -> int:
        """The project of `cwd`, as a session there would have it; checked to be the same when asked again."""
        place = self.place(cwd, config)
        project = projects.resolve(self.db, place, now or datetime.now(UTC))
        assert projects.find(self.db, place) == project
        return project

    def remember(self, project: int, number: int, content: str = "a fact") -> str:
        memory = f"m-{number:020x}"
        self.db.execute(
            "insert into memories (id, scope, project_id, type, content, source, origin, confidence, status,"
            " first_seen, last_seen, created_at, updated_at)"
            " values (?, 'project', ?, 'fact', ?, 'cli', 'user', 1, 'active', '', '', '', '')",
            (memory, project, content),
        )
        return memory

    def count(self, table: str) -> int:
        return int(self.db.execute(f"select count(*) from {table}").get)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.db.close()


# The same project stays the same -------------------------------------------------------------------------------------


def test_known_again_without_a_write(world: World) -> None:
    """A second look finds the project and writes nothing; the day after, only that it was seen."""
    top = repository(world.home / "repo", "https://example.org/repo")
    now = datetime.now(UTC)
    project = world.project(folder(top / "src"), now=now)
    before = world.db.total_changes()
    assert world.project(top, now=now + timedelta(hours=23)) == project
    assert world.db.total_changes() == before
    assert world.project(top, now=now + timedelta(hours=25)) == project
    [info] = projects.list_projects(world.db)
    assert datetime.fromisoformat(info.last_seen_at) > now + timedelta(hours=24)
    assert (info.places, info.identities) == ((str(top),), ("remote:example.org/repo",))


def test_clones_of_one_remote_are_one_project(world: World) -> None:
    """Whatever the spelling of the remote and the folder's name; both places are kept."""
    first = world.project(repository(world.home / "shop", "git@github.com:acme/shop.git"))
    second = world.project(repository(world.home / "shop-2", "https://me:pw@GitHub.com/Acme/shop"))
    assert first == second
    [info] = projects.list_projects(world.db)
    assert len(info.places) == 2
    assert info.name == "shop"


@pytest.mark.parametrize("kind", ["repository", "unborn", "folder"])
@pytest.mark.parametrize("target", ["renamed", "elsewhere/thing"])
def test_a_moved_place_is_followed(world: World, kind: str, target: str) -> None:
    """B40: renamed or moved, with or without commits, the project is the same and its old place forgotten."""
    top = world.home / "thing"
    if kind == "repository":
        repository(top)
    else:
        folder(top)
    if kind == "unborn":
        git(top, "init", "-q")
    project = world.project(top)
    folder((world.home / target).parent)
    top.rename(world.home / target)
    assert world.project(world.home / target) == project
    [info] = projects.list_projects(world.db)
    assert info.places == (str(world.home / target),)


def test_a_move_to_another_disk_is_followed(world: World) -> None:
    """Without the inode (copied over, the original deleted) the first commit tells."""
    top = repository(world.home / "a")
    project = world.project(top)
    shutil.copytree(top, world.home / "b")
    shutil.rmtree(top)
    assert world.project(world.home / "b") == project


def test_a_copied_place_is_a_new_project(world: World) -> None:
    """As long as the original is where it was, its copy is another one; also after the original has moved."""
    for name, make in (("repo", repository), ("folder", folder)):
        top = make(world.home / name)
        # Seen clearly after it was made: stored times end at milliseconds, and this test is as fast as that.
        project = world.project(top, now=datetime.now(UTC) + timedelta(seconds=1))
        copy = world.home / f"{name}-copy"
        shutil.copytree(top, copy)
        copied = world.project(copy, now=datetime.now(UTC) + timedelta(seconds=1))
        assert copied != project
        top.rename(world.home / f"{name}-moved")
        assert world.project(world.home / f"{name}-moved") == project
        assert world.project(copy) == copied


def test_a_reused_inode_inherits_nothing(world: World) -> None:
    """A new folder that got a deleted one's inode is a new project."""
    old = folder(world.home / "old")
    project = world.project(old, now=datetime.now(UTC) - timedelta(seconds=1))
    place = world.place(old)
    old.rmdir()
    new = folder(world.home / "new")
    status = new.stat()
    if status.st_ino != place.inode:
        world.db.execute("update project_places set device = ?, inode = ?", (status.st_dev, status.st_ino))
    assert world.project(new) != project


def test_another_folder_in_the_old_place_does_not_keep_the_moved_one_back(world: World) -> None:
    """mv a b, mkdir a: b is still followed."""
    top = repository(world.home / "a")
    project = world.project(top)
    top.rename(world.home / "b")
    repository(world.home / "a")
    assert world.project(world.home / "b") == project
    assert world.project(world.home / "a") != project


def test_a_folder_restored_at_its_path_is_the_same(world: World) -> None:
    """A new inode at a known path (restored, unpacked again, history started over) keeps the project."""
    top = repository(world.home / "a")
    project = world.project(top)
    shutil.rmtree(top)
    assert world.project(folder(top)) == project
    git(top, "init", "-q")
    assert world.project(top) == project


def test_another_spelling_of_a_path_is_the_same_place(world: World) -> None:
    """B43: what a case-insensitive file system or a second mount shows: another path, the same device and inode."""
    top = folder(world.home / "Code")
    project = world.project(top)
    (world.home / "code-alias").symlink_to(top)
    place = world.place(top)
    spelled = Place(
        root=str(world.home / "code-alias"), name="code", kind="folder", identities=(),
        device=place.device, inode=place.inode,
    )  # fmt: skip
    before = world.db.total_changes()
    assert projects.resolve(world.db, spelled, datetime.now(UTC)) == project
    assert world.db.total_changes() == before


def test_worktrees_share_or_are_separate(world: World) -> None:
    """B41: one project by default; with a name of its own, or `separate`, another; deleting a worktree loses nothing."""
    top = repository(world.home / "shop", "https://example.org/shop")
    for name in ("one", "two"):
        git(top, "worktree", "add", "-q", f".claude/worktrees/{name}")
    one, two = (top / ".claude/worktrees" / name for name in ("one", "two"))
    (one / ".recalld.toml").write_text('project = "experiment"')
    experiment = world.project(one)
    shop = world.project(two)
    assert world.project(top) == shop != experiment
    assert world.project(two, ProjectsConfig(worktrees="separate")) not in (shop, experiment)
    git(top, "worktree", "remove", "--force", str(one))
    assert {info.id for info in projects.list_projects(world.db)} >= {shop, experiment}
    assert world.project(top) == shop


# Two projects never meet ---------------------------------------------------------------------------------------------


def test_like_names_are_many_projects(world: World) -> None:
    """B40: same last name, same length in another script, and `_`, `-`, `.` variants: each its own."""
    tops = [world.home / p for p in ("north/api", "south/api", "p/실험", "p/기록", "my_app", "my-app", "my.app")]
    found = [world.project(folder(top)) for top in tops]
    found += [world.project(repository(world.home / "repos" / side / "api")) for side in ("a", "b")]
    assert len(set(found)) == len(tops) + 2


def test_a_parent_folder_is_not_its_repositories(world: World) -> None:
    """~/code with repositories in it, and each of them: all different."""
    tops = [world.home / "code", *(repository(world.home / "code" / name) for name in ("a", "b", "c"))]
    assert len({world.project(top) for top in tops}) == 4


def test_another_repository_cloned_to_a_known_path(world: World) -> None:
    """Deleted, and something else cloned there: a new project; the former is there again where it is cloned again."""
    top = repository(world.home / "work", "https://example.org/one")
    one = world.project(top)
    other = repository(world.home / "other", "https://example.org/two")  # now, so that it cannot get the inode of `top`
    shutil.rmtree(top)
    other.rename(top)
    assert world.project(top) != one
    assert world.project(repository(world.home / "again", "https://example.org/one")) == one


# Remotes that change -------------------------------------------------------------------------------------------------


def test_a_remote_added_later_is_taken_up(world: World) -> None:
    """A local repository keeps its project when it gets a remote, and its clones then belong to it."""
    top = repository(world.home / "repo")
    project = world.project(top)
    git(top, "remote", "add", "origin", "https://example.org/repo")
    assert world.project(top) == project
    assert world.project(repository(world.home / "clone", "https://example.org/repo")) == project


def test_a_renamed_remote_keeps_the_project(world: World) -> None:
    """A new URL for a known place: the same project; the old one counts on while another place may have it."""
    top = repository(world.home / "repo", "https://old.example.org/repo")
    clone = repository(world.home / "clone", "https://old.example.org/repo")
    project = world.project(top)
    world.project(clone)
    git(top, "remote", "set-url", "origin", "https://new.example.org/repo")
    assert world.project(top) == world.project(clone) == project
    [info] = projects.list_projects(world.db)
    assert len(info.identities) == 2


def test_what_was_cloned_from_a_template_leaves_it(world: World) -> None:
    """A template's only clone that gets its own remote does not meet the next clone of the template."""
    top = repository(world.home / "app", "https://example.org/template")
    project = world.project(top)
    git(top, "remote", "set-url", "origin", "https://example.org/app")
    assert world.project(top) == project
    assert world.project(repository(world.home / "other", "https://example.org/template")) != project


def test_a_remote_of_another_project_takes_the_place_over(world: World) -> None:
    """Pointed at a repository that is known as another project, the place is that one's; the former can be merged."""
    known = world.project(repository(world.home / "known", "https://example.org/known"))
    top = repository(world.home / "local")
    local = world.project(top)
    git(top, "remote", "add", "origin", "https://example.org/known")
    assert world.project(top) == known != local
    projects.merge(world.db, local, known)
    [info] = projects.list_projects(world.db)
    assert len(info.places) == 2


def test_a_local_path_as_remote_joins_its_clones(world: World) -> None:
    """Clones of one bare repository on this disk are one project."""
    repository(world.home / "source")
    git(world.home, "clone", "-q", "--bare", "source", "hub.git")
    clones = [world.home / "a", world.home / "b"]
    for clone in clones:
        git(world.home, "clone", "-q", str(world.home / "hub.git"), str(clone))
    assert len({world.project(clone) for clone in clones}) == 1
    assert world.project(world.home / "source") != world.project(clones[0])


# Names given by hand -------------------------------------------------------------------------------------------------


def test_a_name_joins_places_and_names_the_project_that_was_there(world: World) -> None:
    """Naming a known place names its project; the same name elsewhere is the same project; it outlasts the file."""
    top = repository(world.home / "api", "https://example.org/api")
    project = world.project(top)
    (top / ".recalld.toml").write_text('project = "Shop"')
    assert world.project(top) == project
    assert world.project(folder(world.home / "web"), ProjectsConfig(map={"~/web": "shop"})) == project
    [info] = projects.list_projects(world.db)
    assert info.name == "Shop"
    (top / ".recalld.toml").unlink()
    assert world.project(top) == project


def test_a_name_splits_one_clone_off(world: World) -> None:
    """With a second clone in the project, a name in one is that one's own; so is a second, different name."""
    clones = [repository(world.home / name, "https://example.org/x") for name in ("a", "b")]
    project = world.project(clones[0])
    assert world.project(clones[1]) == project
    (clones[1] / ".recalld.toml").write_text('project = "split"')
    split = world.project(clones[1])
    assert split != project
    assert world.project(clones[0]) == project
    (clones[1] / ".recalld.toml").write_text('project = "split again"')
    assert world.project(clones[1]) not in (project, split)


# Seeing and correcting -----------------------------------------------------------------------------------------------


def test_projects_are_named_by_name_path_or_number(world: World) -> None:
    """An ambiguous or unknown reference is an error that lists the choices."""
    north, south = (world.project(folder(world.home / side / "api")) for side in ("north", "south"))
    other = world.project(folder(world.home / "Größe"))

    def ids(reference: str) -> list[int]:
        return projects.by_reference(world.db, reference, world.home)

    assert ids("GRÖSSE") == ids("./Größe") == ids(f"#{other}") == ids("Größe/sub/folder") == [other]
    assert ids(str(world.home / "north" / "api")) == [north]
    assert sorted(ids("all")) == sorted([north, south, other])
    with pytest.raises(InputError, match=rf"2 projects.*#({north}|{south}) .*#({north}|{south}) "):
        ids("api")
    for unknown in ("nothing", "#99", "#x", "/nowhere", "", "~"):
        with pytest.raises(InputError):
            ids(unknown)


def test_rename_changes_the_name_only(world: World) -> None:
    """The name shown is cleaned, the project still found; an empty one is refused."""
    top = folder(world.home / "x")
    project = world.project(top)
    projects.rename(world.db, project, " New\nname ")
    assert world.project(top) == project
    assert projects.list_projects(world.db)[0].name == "New name"
    for wrong in ((project, " \n"), (99, "x")):
        with pytest.raises(InputError):
            projects.rename(world.db, *wrong)


def fill(world: World, project: int, number: int) -> str:
    """A memory, and a row of everything else that belongs to `project`."""
    memory = world.remember(project, number, f"secret plan {number}")
    session = f"s{number}"
    for sql in (
        "insert into sessions (session_id, project_id, cwd, started_at, last_event_at) values ($s, $p, '/x', '', '')",
        (
            "insert into turns (prompt_id, session_id, project_id, prompt, state, started_at)"
            " values ('t' || $s, $s, $p, 'secret prompt', 'ended', '')"
        ),
        (
            "insert into injections (injection_id, session_id, project_id, event, query, at, tokens, ms)"
            " values ($n, $s, $p, 'UserPromptSubmit', 'secret query', '', 1, 1)"
        ),
        "insert into injection_items values ($n, 0, $m, 1, 1, 1, 'given', null)",
        "insert into usage (at, backend, model, project_id, outcome) values ('', 'claude', 'x', $p, 'ok')",
        "insert into feedback (memory, verdict, at) values ($m, 'useful', '')",
        (
            "insert into history (memory, version, action, actor, content, type, status, at)"
            " values ($m, 1, 'edit', 'cli', 'secret old', 'fact', 'active', '')"
        ),
        "insert into memory_sources values ($m, 't' || $s, '')",
        "insert into tombstones values ($m, x'00', 1, '')",
    ):
        world.db.execute(sql, {"s": session, "p": project, "n": number, "m": memory})
    return memory


def test_merge_moves_everything(world: World) -> None:
    """All rows of the one are the other's afterwards, waiting for their new indexes; its places lead there."""
    tops = [folder(world.home / name) for name in ("a", "b")]
    source, target = (world.project(top) for top in tops)
    fill(world, source, 1)
    world.db.execute("delete from changes")
    projects.merge(world.db, source, target)
    for table in ("memories", "turns", "sessions", "injections", "usage"):
        assert world.db.execute(f"select distinct project_id from {table}").fetchall() == [(target,)]
    assert world.db.execute("select action, project_id from changes").fetchall() == [("update", source)]
    assert [world.project(top) for top in tops] == [target, target]
    assert [(info.id, info.memories) for info in projects.list_projects(world.db)] == [(target, 1)]
    for wrong in ((target, target), (source, target), (target, 99)):
        with pytest.raises(InputError):
            projects.merge(world.db, *wrong)


def test_relink_ties_a_place_to_a_project(world: World) -> None:
    """The place and its remote are the project's from then on; the place that is gone is forgotten."""
    old = folder(world.home / "old")
    # Seen clearly before the next folder is made, which may get the same inode within the same tick of the clock.
    project = world.project(old, now=datetime.now(UTC) - timedelta(seconds=1))
    old.rmdir()
    new = repository(world.home / "new", "https://example.org/new")
    assert world.project(new) != project
    projects.relink(world.db, project, world.place(new), datetime.now(UTC))
    assert world.project(new) == project
    assert world.project(repository(world.home / "clone", "https://example.org/new")) == project
    assert str(old) not in next(i.places for i in projects.list_projects(world.db) if i.id == project)


def test_purge_leaves_no_word_of_a_project(world: World) -> None:
    """Text, history, turns, receipts and places are gone, other projects untouched; spend and reading marks stay."""
    gone, kept = (world.project(folder(world.home / name)) for name in ("gone", "kept"))
    fill(world, gone, 1)
    other = fill(world, kept, 2)
    projects.purge(world.db, gone)
    for table in ("projects", "project_places", "memories", "turns", "injections", "injection_items", "history",
                  "memory_sources", "tombstones", "feedback"):  # fmt: skip
        assert world.count(table) == 1, table
    assert (world.count("sessions"), world.count("usage")) == (2, 2)
    assert world.db.execute("select cwd, project_id from sessions where session_id = 's1'").fetchall() == [("", None)]
    assert world.db.execute("select id from memories").get == other
    assert world.db.execute("select count(*) from changes where project_id = ?", (gone,)).get == 0
    assert world.project(folder(world.home / "gone")) != kept
    with pytest.raises(InputError):
        projects.purge(world.db, 99)


def test_a_place_whose_path_is_no_text_can_be_kept(world: World) -> None:
    """A folder name that is no UTF-8 is recorded and found again."""
    path = Path(os.fsdecode(os.fsencode(world.home) + b"/\xff"))
    project = world.project(folder(path))
    assert world.project(path) == project
