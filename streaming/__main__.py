"""`python -m streaming` is the same as `evenkeel`."""

import sys

from streaming.cli import main

if __name__ == "__main__":
    sys.exit(main())
