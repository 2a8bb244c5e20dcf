"""Where recalld keeps its files, one rule for service, shell and container alike."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

APP = "recalld"


@dataclass(frozen=True)
class Paths:
    """The folders and files of one recalld home. Nothing is created here; `ensure` does that."""

    data: Path
    config_dir: Path
    state: Path
    runtime: Path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.data / "memories.db"

    @property
    def backups(self) -> Path:
        """Daily copies of the database, and those made before a migration."""
        return self.data / "backups"

    @property
    def models(self) -> Path:
        """Embedding models that were fetched."""
        return self.data / "models"

    @property
    def config(self) -> Path:
        """`config.toml`, which need not exist."""
        return self.config_dir / "config.toml"

    @property
    def log(self) -> Path:
        """The daemon's log files."""
        return self.state / "log"

    @property
    def spool(self) -> Path:
        """What hooks kept while nobody answered."""
        return self.state / "spool"

    @property
    def socket(self) -> Path:
        """Where the daemon listens."""
        return self.runtime / "recalld.sock"

    @property
    def http_token(self) -> Path:
        """What whoever uses the HTTP door has to show."""
        return self.state / "http.token"

    @property
    def http_facts(self) -> Path:
        """Where the HTTP door is, while it serves: {url, port, pid}."""
        return self.state / "http.json"

    @property
    def lock(self) -> Path:
        """Held by the one daemon of this home; beside the database, since that is what it guards."""
        return self.data / "daemon.lock"

    def ensure(self) -> None:
        """Create the folders, readable by the owner only."""
        for folder in (self.data, self.backups, self.config_dir, self.state, self.log, self.spool, self.runtime):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def find(environ: Mapping[str, str] | None = None) -> Paths:
    """The paths for this environment: all flat in `RECALLD_HOME` where set, else platformdirs' folders."""
    env = os.environ if environ is None else environ
    if home := env.get("RECALLD_HOME"):
        root = Path(home).expanduser().absolute()
        return Paths(data=root, config_dir=root, state=root, runtime=root)
    dirs = platformdirs.PlatformDirs(APP, appauthor=False)
    state = Path(dirs.user_state_dir)
    return Paths(
        data=Path(dirs.user_data_dir), config_dir=Path(dirs.user_config_dir), state=state, runtime=_runtime(state)
    )


def _runtime(state: Path) -> Path:
    """`/run/user/<uid>/recalld` where that folder exists and is ours, else the state dir.

    XDG_RUNTIME_DIR is not asked: it is unset under plain SSH and cron, and both sides must agree.
    """
    run = Path(f"/run/user/{os.getuid()}")
    try:
        ours = run.stat().st_uid == os.getuid()
    except OSError:
        return state
    return run / APP if ours else state


def claude_config_dir(environ: Mapping[str, str] | None = None, home: Path | None = None) -> Path:
    """The folder Claude Code keeps its settings and transcripts in: `CLAUDE_CONFIG_DIR`, else `.claude` in `home`."""
    env = os.environ if environ is None else environ
    if named := env.get("CLAUDE_CONFIG_DIR"):
        return Path(named).expanduser().absolute()
    return (home or Path.home()) / ".claude"


def spooled(spool: Path) -> list[Path]:
    """What hooks left in the spool, oldest first; none where it cannot be read."""
    try:
        return sorted(spool / name for name in os.listdir(spool) if name.endswith(".hook"))
    except OSError:
        return []
