"""`python -m cmbuild`: the command line."""

import sys
from contextlib import suppress
from pathlib import Path

# The working folder, where anyone may have put a numpy.py, unless it is left out already.
with suppress(FileNotFoundError):
    if not getattr(sys.flags, "safe_path", False) and sys.path[0] in ("", str(Path.cwd())):
        del sys.path[0]

from cmbuild.cli import main

sys.exit(main())
