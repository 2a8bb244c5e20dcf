"""`python -m recalld.web`, as the daemon begins it."""

import sys

from recalld.web.serve import main

sys.exit(main(sys.argv[1:]))
