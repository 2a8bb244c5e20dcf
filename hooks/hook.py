"""The pipe between Claude Code and the recalld daemon: `hook.py EVENT [SOCKET [START...]]`.

Stdin goes to the daemon's socket, its reply to stdout, and all judgement is the daemon's. The user waits while this
runs: nothing is imported that takes time, one deadline holds for everything, and every failure is silent: exit code 0,
nothing on stderr, nothing or one whole JSON object on stdout. Run it as `python -I -S`.
"""

import _socket
import posix
import sys
import time

WAIT_S = {"session-start": 0.9, "prompt": 0.25, "stop": 0.25, "session-end": 0.25}
SPEAKING = ("session-start", "prompt")  # the events whose reply Claude Code may be given
SPOOLED = ("prompt", "stop")  # these two are a turn; a lost session-end the daemon makes up for by itself
MAX_INPUT_BYTES = 1 << 24
MAX_REPLY_BYTES = 1 << 16  # what an empty pipe takes in one write, and more than Claude Code accepts
MAX_SPOOL_FILES = 1000  # with the daemon gone for weeks, the disk must not fill up
MAX_SPOOL_BYTES = 1 << 26
START_EVERY_S = 10
UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/")
# How the outline of a JSON text folds up, the first that fits first: each string is a `"`, other value 0, pair 1.
PAIRS = ((b'":"', b"1"), (b'":0', b"1"), (b"1,1", b"1"), (b"{1}", b"0"), (b"{}", b"0"))
ITEMS = ((b'[",', b"["), (b"[0,", b"["), (b'["]', b"0"), (b"[0]", b"0"), (b"[]", b"0"))
MAX_FOLDINGS = 100


def run(event: str, given: str, start: list[str], deadline: float) -> None:
    """Carry one event to the daemon and its reply back; `given` is the socket's path or empty."""
    payload = read_input(deadline)
    if not payload:
        return
    if home := environ("RECALLD_HOME"):
        posix.environ[b"RECALLD_HOME"] = absolute(home)  # for a started daemon too: the working directory is left
    values = (environ("CLAUDE_CODE_ENTRYPOINT"), environ("CLAUDE_PROJECT_DIR"), b"%d" % posix.getppid())
    request = b"hook %s entrypoint=%s project=%s pid=%s\n" % (event.encode(), *map(quoted, values)) + payload
    socket = absolute(given.encode(sys.getfilesystemencoding(), "surrogateescape")) if given else default_socket()
    reply = b""
    try:
        reply = exchange(connect(event, socket, start, deadline), request, deadline)
    except (FileNotFoundError, ConnectionRefusedError):
        if event == "session-start" and not given:
            reply = notice()
    except OSError:
        pass  # there, but hung, half-dead or not ours
    if not is_object(reply):
        if event in SPOOLED:
            spool(request, socket, bool(given))
    elif event in SPEAKING and reply.strip() != b"{}" and b'"decision"' not in reply and b'"continue"' not in reply:
        posix.write(1, reply)  # whatever answers on the socket: it must not be able to stop the user


def read_input(deadline: float) -> bytes:
    """All of stdin; nothing where it is not given whole in time, or is more than a hook's input can be."""
    data = bytearray()
    posix.set_blocking(0, False)
    try:
        while len(data) <= MAX_INPUT_BYTES and time.monotonic() < deadline:
            try:
                chunk = posix.read(0, 1 << 18)
            except BlockingIOError:
                time.sleep(0.0005)
                continue
            if not chunk:
                return bytes(data)
            data += chunk
    finally:
        posix.set_blocking(0, True)  # a terminal is shared with the shell
    # Left open, though what is there may well be all: too late to send, but not to keep.
    return bytes(data) if len(data) <= MAX_INPUT_BYTES and data[-4:].rstrip().endswith(b"}") else b""


def connect(event: str, socket: bytes, start: list[str], deadline: float) -> _socket.socket:
    """A connection to the daemon, which `start` brings up where it is missing. Raises OSError."""
    folder, _, name = socket.rpartition(b"/")
    while True:
        try:
            posix.chdir(folder or b"/")  # a bare name knows no limit of length
            peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            peer.settimeout(left(deadline))
            peer.connect(name)
            return peer
        except BlockingIOError:
            pass  # alive, with a full queue
        except (FileNotFoundError, ConnectionRefusedError):
            if not start:
                raise
            launch(folder, start)
            if event != "session-start":
                raise  # the daemon will not be up in time; the spool keeps the turn for it
        time.sleep(min(0.01, left(deadline)))


def exchange(peer: _socket.socket, request: bytes, deadline: float) -> bytes:
    """The daemon's whole answer: the connection is the frame, bytes until the end both ways. Raises OSError."""
    peer.settimeout(left(deadline))
    peer.sendall(request)
    peer.shutdown(_socket.SHUT_WR)
    reply = b""
    while len(reply) <= MAX_REPLY_BYTES:
        peer.settimeout(left(deadline))  # anew each time: a peer that dribbles gets no more than one that hangs
        chunk = peer.recv(MAX_REPLY_BYTES)
        if not chunk:
            return reply
        reply += chunk
    return b""


def left(deadline: float) -> float:
    """Seconds until `deadline`. Raises TimeoutError past it."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def is_object(data: bytes) -> bool:
    """Whether `data` is one JSON object and nothing else, by its outline; importing `json` would double the hook's time.

    It tells cut off, doubled and foreign text from an answer; that an answer's escapes are right is the daemon's part.
    """
    pieces = data.replace(rb"\\", b"__").replace(rb"\"", b"__").split(b'"')
    outline, strings = b'"'.join(pieces[::2]), b"".join(pieces[1::2])
    for word in (b"true", b"false", b"null"):
        outline = outline.replace(word, b"0")
    outline = outline.translate(bytes.maketrans(b"123456789+-.eE", b"0" * 14), b" \t\r\n")
    while b"00" in outline:
        outline = outline.replace(b"00", b"0")
    for _ in range(MAX_FOLDINGS):
        fold = next((fold for fold in PAIRS + ITEMS if fold[0] in outline), None)
        if not fold:
            break
        outline = outline.replace(*fold)
    closed = len(pieces) % 2 == 1 and strings == strings.translate(None, bytes(range(32)))
    return outline == b"0" and data.lstrip()[:1] == b"{" and closed and is_utf8(data)


def launch(folder: bytes, command: list[str]) -> None:
    """Start the daemon, detached, unless another hook does or did within START_EVERY_S."""
    try:
        make(folder)
        lock = posix.open(folder + b"/start.lock", posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
    except OSError:
        return
    try:
        posix.lockf(lock, posix.F_TLOCK, 0)
        last = posix.fstat(lock)  # empty: never started; a time far ahead: the clock was set back
        if last.st_size and abs(time.time() - last.st_mtime) < START_EVERY_S:
            return
        posix.pwrite(lock, b"1", 0)
        posix.utime(lock)
        for fd in posix.listdir("/dev/fd"):
            if int(fd) > 2:
                try:
                    posix.set_inheritable(int(fd), False)  # what Claude Code left open is not the daemon's to hold
                except OSError:
                    pass  # the listing's own
        null = [(posix.POSIX_SPAWN_OPEN, fd, "/dev/null", posix.O_RDWR, 0) for fd in range(3)]
        posix.posix_spawnp(command[0], command, posix.environ, file_actions=null, setsid=True)
    except (OSError, NotImplementedError):
        pass
    finally:
        posix.close(lock)


def spool(request: bytes, socket: bytes, named: bool) -> None:
    """Keep what could not be delivered for the daemon to take in, while there is room. Raises OSError.

    The place is RECALLD_HOME, else the socket's folder if the daemon has its spool there, else the usual state folder.
    Where nobody named a place and no daemon ever ran, nothing is kept: nobody would ever read it, or clear it away.
    """
    folder = socket.rpartition(b"/")[0] + b"/spool"
    if environ("RECALLD_HOME") or not posix.access(folder, posix.W_OK):
        folder = state_folder() + b"/spool"
    if named or environ("RECALLD_HOME"):
        make(folder)
    kept = posix.listdir(folder)
    if len(kept) >= MAX_SPOOL_FILES or sum(map(size, [folder + b"/" + name for name in kept])) > MAX_SPOOL_BYTES:
        return
    name = folder + b"/%d-%d" % (time.time_ns(), posix.getpid())
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC
    file = posix.open(name + b".tmp", flags, 0o600)
    try:
        rest = memoryview(request)
        while rest:
            rest = rest[posix.write(file, rest) :]
        posix.rename(name + b".tmp", name + b".hook")
    except OSError:
        posix.unlink(name + b".tmp")  # a full disk


def notice() -> bytes:
    """How to get a daemon, for who has only the plugin; once on this machine. Raises OSError."""
    make(state_folder())
    mark = state_folder() + b"/plugin-notice"
    posix.close(posix.open(mark, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o600))
    root = sys.argv[0].encode(sys.getfilesystemencoding(), "surrogateescape").rpartition(b"/hooks/")[0]
    shown = root.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    text = b"recalld: no daemon answers, so nothing is remembered yet. Install it with: sh '%s/install.sh'" % shown
    return b'{"systemMessage": "%s (or run: recalld start)"}\n' % text


def default_socket() -> bytes:
    """Where the daemon listens when nobody says: the rule of recalld.paths, word for word."""
    run = b"/run/user/%d" % posix.getuid()
    try:
        ours = posix.stat(run).st_uid == posix.getuid()
    except OSError:
        ours = False
    return (run + b"/recalld" if ours and not environ("RECALLD_HOME") else state_folder()) + b"/recalld.sock"


def state_folder() -> bytes:
    """RECALLD_HOME, else what platformdirs calls the user's state folder. Raises OSError."""
    if home := environ("RECALLD_HOME"):
        return absolute(home)
    base = environ("XDG_STATE_HOME")
    if base[:1] != b"/":
        base = absolute(b"~/Library/Application Support" if sys.platform == "darwin" else b"~/.local/state")
    return base.rstrip(b"/") + b"/recalld"


def absolute(path: bytes) -> bytes:
    """`path` from the root on, `~` put in. Raises KeyError without a HOME."""
    if path == b"~" or path[:2] == b"~/":
        path = posix.environ[b"HOME"] + path[1:]
    return path if path[:1] == b"/" else posix.getcwdb().rstrip(b"/") + b"/" + path


def is_utf8(data: bytes) -> bool:
    """Whether `data` is text."""
    try:
        return data.decode() is not None
    except UnicodeDecodeError:
        return False


def environ(name: str) -> bytes:
    """The environment variable's value; empty where it is not set."""
    return posix.environ.get(name.encode(), b"")


def quoted(value: bytes) -> bytes:
    """`value` percent-encoded."""
    return b"".join(b"%c" % byte if byte in UNRESERVED else b"%%%02X" % byte for byte in value)


def make(folder: bytes) -> None:
    """Create `folder` and those above it, for the owner alone, where missing. Raises OSError."""
    try:
        posix.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        make(folder.rpartition(b"/")[0])
        posix.mkdir(folder, 0o700)


def size(path: bytes) -> int:
    """The file's size in bytes."""
    try:
        return posix.stat(path).st_size
    except OSError:
        return 0  # the daemon has just taken it in


if __name__ == "__main__":
    try:
        if len(sys.argv) > 1 and sys.argv[1] in WAIT_S and environ("RECALLD_DISABLE") in (b"", b"0"):
            run(sys.argv[1], "".join(sys.argv[2:3]), sys.argv[3:], time.monotonic() + WAIT_S[sys.argv[1]])
    finally:
        posix._exit(0)  # whatever was raised ends here, unsaid; nor does anyone wait for the interpreter to tidy up
