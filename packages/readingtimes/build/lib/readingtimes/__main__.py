"""`python -m readingtimes` is the command `readingtimes`."""

import sys

from readingtimes.command import main

if __name__ == "__main__":
    sys.exit(main())
