"""Ways into the team's PostgreSQL: what a DSN may say, connections that notice a dead end, errors in one line."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any, Literal

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recalld.hubwire import HubError

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what matters is raised; the rest is no talk for stderr

Connection = psycopg.Connection[tuple[Any, ...]]
Mode = Literal["read write", "read only"]
CONNECT_S = 5
STATEMENT_S = 30.0
LONG_S = 600.0
"""What may touch all that a member shared, or a whole schema."""
GRACE_S = 15.0
"""So much later than the server the client gives up: a proxy that swallows everything is noticed by this alone."""
_DEFAULTS = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "application_name": "recalld",
    "client_encoding": "UTF8",
}
_UNSURE = ("disable", "allow", "prefer")
_PASSING = ("08", "40", "53", "57")
"""SQLSTATEs of what may be over soon: connections, serialisation, resources, the operator's doing."""
_HELD = (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)
_NONE = (
    psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedColumn, psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedTable,
)  # fmt: skip
_PREFACE = re.compile(r"^connection failed: (connection to server .*? failed: )?(FATAL: +)?")
_OUT = ("authentication failed", "not permitted to log in")
_REFUSED = (*_OUT, "does not exist", "certificate", "no pg_hba.conf entry")


class Way(dict[str, Any]):
    """libpq's parameters for one hub."""

    @property
    def line(self) -> str:
        """As libpq takes them. Holds the password."""
        return make_conninfo("", **self)

    def __str__(self) -> str:
        """Where it leads, without who and the password."""
        host = self.get("host") or self.get("hostaddr") or self.get("service") or "the local socket"
        return f"{host}{':' + str(self['port']) if 'port' in self else ''}/{self.get('dbname', '')}"

    __repr__ = __str__


def way(dsn: str, passfile: str = "") -> Way:
    """What `dsn` (a URI, or `key=value ...`) says, with what keeps the way safe.

    To another host, the server's certificate is verified against the system's roots unless the DSN itself names a
    weaker sslmode that still encrypts. Raises HubError.
    """
    try:
        said = conninfo_to_dict(dsn)
    except psycopg.Error:  # its text quotes parts of the DSN
        raise HubError("this is no DSN; its form is postgresql://USER:PASSWORD@HOST/DATABASE") from None
    found = Way(_DEFAULTS | said)
    if passfile:
        found["passfile"] = os.path.expanduser(passfile)
    if not _is_local(said):
        mode = found.setdefault("sslmode", "verify-full")
        if mode in _UNSURE:
            raise HubError(
                f"sslmode={mode} would send memories to {found} in the clear; leave it out or say verify-full"
            )
        if "sslrootcert" not in found and mode.startswith("verify"):
            found |= _roots()
    if "," in str(said.get("host", "")):
        found.setdefault("target_session_attrs", "read-write")
    return found


def _is_local(said: dict[str, Any]) -> bool:
    unsaid = "a service's" if "service" in said else os.environ.get("PGHOST", "")
    hosts = str(said.get("hostaddr") or said.get("host") or unsaid)
    return all(host in {"", "localhost"} or host[0] in "/@" or _is_loopback(host) for host in hosts.split(","))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, even if it begins with 127.
        return False


def _roots() -> dict[str, str]:
    """The system's certificates, as Python finds them: libpq's own OpenSSL may look for them elsewhere."""
    if os.path.exists(os.path.expanduser("~/.postgresql/root.crt")):
        return {}
    file = ssl.get_default_verify_paths().cafile
    return {"sslrootcert": file or "system"}


def connect(to: Way, **options: Any) -> Connection:
    """A new connection. Raises HubError, `away` unless the hub refused it."""
    try:
        return psycopg.connect(to.line, prepare_threshold=None, **options)
    except psycopg.Error as error:
        text = _line(error, to)
        refused = any(word in text for word in _REFUSED)
        if any(word in text for word in _OUT):
            text += (
                "; unless this member was removed, `recalld hub members rotate NAME` by an owner gives a new address"
            )
        raise HubError(f"the hub at {to}: {text}", away=not refused) from None


@contextlib.contextmanager
def transaction(
    connection: Connection, to: Way, mode: Mode = "read write", seconds: float = STATEMENT_S
) -> Iterator[None]:
    """One transaction, each statement of which may take so many seconds; errors come as HubError."""
    limit = f"set local statement_timeout = {int(seconds * 1_000)}"
    with errors(to), _deadline(connection, seconds + GRACE_S), connection.transaction():
        connection.execute(f"set transaction {mode}; {limit}; set local timezone = 'UTC'")
        yield


def listen(to: Way, channel: str) -> Connection:
    """A new connection that hears what is told on the channel. Raises HubError."""
    ear = connect(to, autocommit=True)
    try:
        with errors(to), _deadline(ear, CONNECT_S):
            ear.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
    except HubError:
        ear.close()
        raise
    return ear


def alive(connection: Connection) -> None:
    """Raises psycopg.Error where the other side no longer answers."""
    with _deadline(connection, CONNECT_S):
        connection.execute("select")
        connection.rollback()


@contextlib.contextmanager
def _deadline(connection: Connection, seconds: float) -> Iterator[None]:
    """Cuts the connection when the time is over; whoever waits for it gets an OperationalError."""
    timer = threading.Timer(seconds, _cut, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(connection: Connection) -> None:
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as twin:
        twin.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def errors(to: Way) -> Iterator[None]:
    """What psycopg raises, as HubError."""
    try:
        yield
    except _NONE:
        raise HubError(
            f"there is no hub in {to}, or one of another version; "
            "`recalld hub init` by its administrator, or an upgrade of recalld here, brings them in step"
        ) from None
    except _HELD:
        raise HubError(
            f"the hub at {to} is busy: another client keeps it locked; it is tried again", away=True
        ) from None
    except psycopg.Error as error:
        code = error.sqlstate or "08"
        away = isinstance(error, psycopg.OperationalError) and code.startswith(_PASSING)
        raise HubError(f"the hub at {to}: {_line(error, to)}", away=away) from None


def _line(error: psycopg.Error, to: Way) -> str:
    """The first line of what the server or libpq says."""
    text = error.diag.message_primary or (str(error).strip().splitlines() or [type(error).__name__])[0]
    text = _PREFACE.sub("", text)
    password = to.get("password")
    return text.replace(password, "***") if password else text
