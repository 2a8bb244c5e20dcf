"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """A new file, for its owner alone, that takes the place of `path` after the block, durably and in one rename.

    Where anything raises, `path` is as before. Raises OSError, which names `path`.
    """
    import tempfile  # late: commands that write nothing need not wait for it

    unfinished = ""
    try:
        handle, unfinished = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
