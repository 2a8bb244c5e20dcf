"""A real PostgreSQL for the tests: one server a process, started at the first use and ended with it; a database a test.

Import the fixture where it is needed: `from pg import hub`. RECALLD_TEST_POSTGRES names another folder of binaries. The server listens on a Unix socket and on loopback, with
passwords checked on both; only its superuser comes in without, by the socket.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import glob
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from recalld.hub import admin
from recalld.hub.postgres import Remote

SUPERUSER = "postgres"
ADMIN = "hub_admin"
ADMIN_PASSWORD = "administrator"
BASE = "hub_base"
_CONF = """
listen_addresses = '127.0.0.1'
ssl = on
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
shared_buffers = 64MB
max_connections = 100
autovacuum_naptime = 10min
log_min_messages = log
"""
_HBA = f"local all {SUPERUSER} trust\nlocal all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n"


class Server:
    """A cluster in a folder of its own. port: on 127.0.0.1, and of the socket in `folder`."""

    def __init__(self, binaries: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rpg", dir="/tmp"))
        self.numbers = itertools.count(1)
        user = next((name for name in ("postgres", "nobody") if _exists(name)), "") if os.geteuid() == 0 else ""
        become: list[str] = []
        if user:
            found = pwd.getpwnam(user)
            os.chown(self.folder, found.pw_uid, found.pw_gid)
            become = ["setpriv", f"--reuid={user}", f"--regid={found.pw_gid}", "--clear-groups", "--pdeathsig=INT"]
        data = self.folder / "data"
        made = [
            binaries / "initdb",
            "-D",
            data,
            "-U",
            SUPERUSER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]
        subprocess.run([*become, *made], check=True, capture_output=True, cwd="/")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        (data / "postgresql.auto.conf").write_text(
            f"{_CONF}port = {self.port}\nunix_socket_directories = '{self.folder}'\n"
        )
        (data / "pg_hba.conf").write_text(_HBA)
        self.certificate = _certified(data)
        self.log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen([*become, binaries / "postgres", "-D", data], cwd="/", stderr=self.log)
        try:
            self._wait()
            self.run(f"create role {ADMIN} login createrole password '{ADMIN_PASSWORD}'")
            self.run(f"create database {BASE} owner {ADMIN}")
            admin.init(self.admin_dsn(BASE), org="base", member="base", program="tests")
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> None:
        until = time.monotonic() + 30
        while True:
            try:
                self.superuser().close()
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < until, "PostgreSQL does not begin to serve"
                time.sleep(0.02)
            else:
                return

    def superuser(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """A connection that no policy binds; autocommit."""
        return psycopg.connect(host=str(self.folder), port=self.port, user=SUPERUSER, dbname=database, autocommit=True)

    def run(self, statement: str, database: str = "postgres") -> None:
        with self.superuser(database) as connection:
            connection.execute(statement.encode())

    def admin_dsn(self, database: str) -> str:
        """Of the administrator, who is no superuser: CREATEROLE, and owner of the database."""
        return f"postgresql://{ADMIN}:{ADMIN_PASSWORD}@127.0.0.1:{self.port}/{database}"

    def database(self, template: str = BASE) -> str:
        """A new database; with the hub's schema, unless the template is another."""
        name = f"hub_{next(self.numbers)}"
        with self.superuser() as connection:
            quick = "strategy file_copy" if connection.info.server_version >= 150_000 else ""
            connection.execute(f"create database {name} owner {ADMIN} template {template} {quick}".encode())
        return name

    def drop(self, database: str) -> None:
        self.run(f"drop database {database} with (force)")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Hub:
    """A database with the hub's schema and one org, `acme`, whose owner is `olga`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.database = server.database()
        self.admin = server.admin_dsn(self.database)
        self.owner = self.org("acme", "olga")

    def org(self, name: str, owner: str) -> str:
        """Another org; its owner's DSN."""
        made = admin.init(self.admin, org=name, member=owner, program="tests")
        assert made.join is not None
        return made.join

    def member(self, name: str, role: Any = "member") -> str:
        """A new member's DSN."""
        return admin.add(self.owner, name, role)

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """As the superuser."""
        with self.server.superuser(self.database) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def device(self, dsn: str, name: str = "laptop") -> Remote:
        """A registered device of the member with that DSN; the caller closes it."""
        remote = Remote(dsn)
        remote.register_device(device_id(name, dsn), name)
        return remote


def device_id(name: str, dsn: str) -> str:
    """A UUID that is the same for the same device."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name} {dsn}"))


@functools.cache
def server() -> Server:
    """This process's server. Skips the test where no PostgreSQL is installed."""
    installed = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda folder: int(folder.split("/")[4]))
    on_path = [str(Path(found).parent)] if (found := shutil.which("initdb")) else []
    named = os.environ.get("RECALLD_TEST_POSTGRES")
    folders = [Path(folder) for folder in ([named] if named else on_path + installed)]
    if not folders:
        pytest.skip("no PostgreSQL here: initdb is neither on the PATH nor in /usr/lib/postgresql")
    made = Server(folders[-1])
    atexit.register(made.stop)
    return made


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(server())
    yield made
    made.server.drop(made.database)


def _certified(data: Path) -> Path:
    """Gives the server a certificate of its own for localhost; returns where that stands."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (data / "server.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (data / "server.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    owner = data.stat()
    os.chown(data / "server.key", owner.st_uid, owner.st_gid)
    (data / "server.key").chmod(0o600)
    return data / "server.crt"


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
