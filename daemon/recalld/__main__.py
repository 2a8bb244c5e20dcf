"""`python -m recalld`: the command line."""

import sys

from recalld.cli.main import main

sys.exit(main())
