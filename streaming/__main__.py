"""`python -m streaming` is the same as `evenkeel`; `spark-submit` is given this file."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (pathlib may import what is shadowed)
if HERE in sys.path:  # run as a script: our own inspect would stand in for Python's
    sys.path[sys.path.index(HERE)] = os.path.dirname(HERE)  # noqa: PTH120

from streaming.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
