"""Run the command `recency` as `python -m recency`."""

import sys

from recency.command.main import main

if __name__ == "__main__":
    sys.exit(main())
