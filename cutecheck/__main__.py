"""``python -m cutecheck``."""

import sys

from cutecheck.cli import main

if __name__ == "__main__":
    sys.exit(main())
