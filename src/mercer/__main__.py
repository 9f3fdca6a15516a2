"""``python -m mercer``: the same as ``mercer``."""

import sys

from mercer.cli import main

if __name__ == "__main__":
    sys.exit(main())
