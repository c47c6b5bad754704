"""``python -m cutecheck``."""

import os
import sys

# `-m` puts the current folder first, which may be a scanned tree: nothing in it may shadow what is imported from here.
if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 (pathlib is not imported yet)
    del sys.path[0]

from cutecheck.cli import entry

if __name__ == "__main__":
    entry()
