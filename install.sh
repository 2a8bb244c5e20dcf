#!/bin/sh
# Installs recalld from this checkout for the user who runs it, and takes it out again. Nothing needs root.
set -eu

usage() {
    cat <<'TEXT'
usage: ./install.sh [--no-service] [--client NAME]
       ./install.sh --uninstall [--purge] [--yes]

Gives recalld a virtual environment of its own, puts the command `recalld` into ~/.local/bin, registers the hooks in
Claude Code's settings.json, sets up the service (systemd or launchd) and proves that a memory comes back. Run it
again after `git pull` to upgrade.

  --no-service   no service manager: hooks start the daemon when they find none
  --client NAME  the program to register with (claude-code)
  --uninstall    take all of it out; memories and settings stay
  --purge        take the memories and settings out too (implies --uninstall)
  --yes          do not ask before --purge; without a terminal nobody is asked

RECALLD_HOME=DIR keeps everything in one folder. Packages come from where pip and uv are set up to find them; for a
machine without network set PIP_NO_INDEX=1 and PIP_FIND_LINKS=FOLDER, a folder of wheels.
TEXT
}

say() { printf 'recalld: %s\n' "$*"; }
fail() {
    printf 'recalld: %s\n' "$*" >&2
    exit 1
}

# --- what is asked for ---
uninstall='' purge='' yes='' service='' client=''
while [ $# -gt 0 ]; do
    case $1 in
        --help | -h) usage; exit 0 ;;
        --uninstall) uninstall=1 ;;
        --purge) uninstall=1 purge=--purge ;;
        --yes | -y) yes=--yes ;;
        --no-service) service=--no-service ;;
        --client)
            [ $# -gt 1 ] || { usage >&2; exit 2; }
            client=$2
            shift ;;
        --client=*) client=${1#--client=} ;;
        *) printf 'recalld: unknown option %s\n' "$1" >&2; usage >&2; exit 2 ;;
    esac
    shift
done

# --- where it goes ---
[ -n "${HOME:-}" ] && [ -d "$HOME" ] || fail "HOME is not set to a folder that exists"
me=$(id -u)
if [ "$me" = 0 ] && [ -z "$(find "$HOME" -prune -user 0)" ]; then
    fail "$HOME is another user's home: run this as its owner, without sudo"
fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ -n "${RECALLD_HOME:-}" ]; then
    case $RECALLD_HOME in /*) ;; *) RECALLD_HOME=$PWD/$RECALLD_HOME ;; esac
    export RECALLD_HOME
    base=$RECALLD_HOME
else
    base=${XDG_DATA_HOME:-$HOME/.local/share}/recalld
fi
venv=$base/venv
launcher=$HOME/.local/bin/recalld
manual=$HOME/.local/share/man/man1/recalld.1 # where `man` looks for the commands of ~/.local/bin

# What these say is meant for other projects' Python.
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV

# --- building ---
any_python='>=3.11' # as uv puts it
usable() { # PYTHON: prints the full path of one that will do
    "$1" - 2>/dev/null <<'PYTHON'
import sys
if sys.version_info < (3, 11):
    sys.exit(1)
import ensurepip, venv
print(sys.executable)
PYTHON
}

find_python() {
    for name in python3.13 python3.12 python3.11 python3; do
        if command -v "$name" >/dev/null 2>&1 && usable "$name"; then
            return 0
        fi
    done
    # uv can make environments without ensurepip, and fetch a Python where there is none.
    [ -n "$uv" ] && printf '%s\n' "$any_python"
}

with_uv() { # NEW PYTHON
    if [ -n "${PIP_FIND_LINKS:-}" ] && [ -z "${UV_FIND_LINKS:-}" ]; then
        UV_FIND_LINKS=$(printf '%s' "$PIP_FIND_LINKS" | tr ' ' ',')
        export UV_FIND_LINKS
    fi
    offline='' # uv has no variable for it
    case ${PIP_NO_INDEX:-} in '' | 0 | false) ;; *) offline=--no-index ;; esac
    if [ -n "${PIP_INDEX_URL:-}" ] && [ -z "${UV_DEFAULT_INDEX:-}" ]; then
        export UV_DEFAULT_INDEX="$PIP_INDEX_URL"
    fi
    "$uv" venv --quiet --no-project --python "$2" "$1" &&
        "$uv" pip install --quiet --python "$1/bin/python" --compile-bytecode ${offline:+"$offline"} --require-hashes -r requirements.lock &&
        "$uv" pip install --quiet --python "$1/bin/python" --compile-bytecode ${offline:+"$offline"} --no-deps "$here"
}

with_pip() { # NEW PYTHON
    "$2" -m venv "$1" &&
        "$1/bin/python" -m pip install --quiet --disable-pip-version-check --compile --require-hashes -r requirements.lock &&
        "$1/bin/python" -m pip install --quiet --disable-pip-version-check --compile --no-deps "$here"
}

point_to() { # FOLDER: let `venv` mean it, at once for whoever looks
    ln -sfn "$1" "$venv.new"
    "$base/$1/bin/python" -c 'import os, sys; os.replace(*sys.argv[1:])' "$venv.new" "$venv"
}

build() { # leaves $venv pointing at this version; sets $before to what it pointed at
    cd "$here"
    uv=$(command -v uv || true)
    if [ -n "$uv" ] && ! "$uv" --version >/dev/null 2>&1; then
        uv=''
    fi
    python=$(find_python) || fail "needs Python 3.11 or newer with venv: install it with your system's packages" \
        "(Debian, Ubuntu: apt install python3-venv; macOS: brew install python) or install uv, and run this again"
    (umask 077 && mkdir -p "$base")
    if [ -e "$venv" ] && [ ! -L "$venv" ]; then
        fail "$venv is in the way: it was not made by this script; move it away and run this again"
    fi
    stamp=$({
        printf '%s\n' "$python" "$base"
        find pyproject.toml requirements.lock daemon docs/recalld.1 hooks systemd skills .claude-plugin -type f ! -name '*.pyc' \
            -exec cksum {} + | LC_ALL=C sort
    } | cksum | cut -d ' ' -f 1)
    new=venv-$stamp
    before=$(readlink "$venv" || true)
    if [ "$before" = "$new" ] && healthy "$base/$new"; then
        return 0
    fi
    say "building its environment in $base"
    rm -rf "${base:?}/$new"
    trap 'rm -rf "${base:?}/$new" "$venv.new"' EXIT
    trap 'exit 130' HUP INT TERM
    if [ -z "$uv" ] || ! with_uv "$base/$new" "$python"; then
        [ "$python" != "$any_python" ] || fail "the environment could not be built; nothing was changed"
        # What keeps uv from it, such as a certificate or an index that only pip was told of, need not keep pip.
        [ -z "$uv" ] || say "uv could not; trying pip"
        rm -rf "${base:?}/$new"
        with_pip "$base/$new" "$python" || fail "the environment could not be built; nothing was changed"
    fi
    healthy "$base/$new" || fail "the program does not start with $python; nothing was changed"
    point_to "$new"
    trap - EXIT HUP INT TERM
}

healthy() { "$1/bin/python" -c 'import recalld.app, recalld.cli.main, recalld.install.setup' >/dev/null 2>&1; }

remove_others() { # all environments but the present one
    for folder in "$base"/venv-*; do
        [ "$folder" = "$base/$new" ] || rm -rf "$folder"
    done
}

link() { # LINK TARGET: 1 where something of others is in its place
    mkdir -p "$(dirname "$1")"
    [ "$(readlink "$1" || true)" != "$2" ] || return 0
    { [ ! -e "$1" ] && [ ! -L "$1" ]; } || return 1
    ln -s "$2" "$1"
}

link_command() {
    link "$manual" "$venv/share/man/man1/recalld.1" || true
    if ! link "$launcher" "$venv/bin/recalld"; then
        say "$launcher is another program's and stays; the command is $venv/bin/recalld"
        return 0
    fi
    case :$PATH: in
        *:"$HOME/.local/bin":*) ;;
        *) say "$HOME/.local/bin is not on your PATH; the command is $launcher" ;;
    esac
}

# --- taking it out ---
remains() { # whether anything of ours is here
    [ -e "$venv" ] || [ -L "$launcher" ] ||
        [ -e "${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/recalld.service" ] ||
        [ -e "$HOME/Library/LaunchAgents/dev.recalld.plist" ] ||
        grep -q recalld "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json" 2>/dev/null ||
        { [ -n "$purge" ] && [ -d "$base" ]; }
}

if [ -n "$uninstall" ]; then
    if ! remains; then
        say "is not installed here"
        exit 0
    fi
    # The settings can only be edited by the program; if it is gone, it is built once more for that.
    healthy "$venv" || build
    "$venv/bin/recalld" uninstall ${purge:+"$purge"} ${purge:+${yes:+"$yes"}}
    exit 0
fi

# --- putting it in ---
build
set --
[ -z "$service" ] || set -- "$@" "$service"
[ -z "$client" ] || set -- "$@" --client "$client"
link_command
if ! "$venv/bin/recalld" install "$@"; then
    if [ -n "$before" ] && [ "$before" != "$new" ] && healthy "$base/$before"; then
        point_to "$before"
        rm -rf "${base:?}/$new"
        # The daemon that runs, and the hooks, may be the new version's.
        "$venv/bin/recalld" install "$@" >/dev/null 2>&1 || true
        fail "installing failed; the version before is back in its place"
    fi
    fail "installing failed; mend what is said above and run this again"
fi
remove_others
