"""`python -m recency` is the command `recency`."""

import sys

from recency.command.main import main

if __name__ == "__main__":
    sys.exit(main())
