"""Automatic long-term memory for Claude Code."""

import os
import sys

__version__ = "0.1.0"

ENCRYPTION = os.path.join(sys.prefix, "recalld-encryption")
"""What `recalld encrypt on` installs: an SQLite with ciphers, in front of the plain one while the folder is there."""

if os.path.isdir(ENCRYPTION):
    sys.path.insert(0, ENCRYPTION)
