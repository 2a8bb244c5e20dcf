"""`python -m recalld.hub`, as the daemon begins it."""

import sys

from recalld.hub.run import main

sys.exit(main())
