"""The command `mcp`: the server that MCP clients start."""

from __future__ import annotations

import argparse
import os
import sys

from recalld.cli.command import Command


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--project", metavar="NAME|PATH|all", help="open this project to the client (default: the client's own roots)"
    )
    parser.add_argument("--client", metavar="NAME", help="the name to write under (default: the client's own)")


def mcp(arguments: argparse.Namespace) -> int:
    """Serve one MCP client on stdin and stdout, until it closes them."""
    from recalld.mcp import stdio

    if os.isatty(0):
        print("this is for an MCP client, not for typing; `recalld install --client NAME` sets one up", file=sys.stderr)
    return stdio.serve(arguments.project, arguments.client)


COMMANDS = (
    Command("mcp", "[--project P]", "serve an MCP client on stdin and stdout; `install --client` sets one up", _options, mcp,
            ("recalld mcp", "recalld mcp --project shop --client zed", "recalld mcp --project all")),
)  # fmt: skip
