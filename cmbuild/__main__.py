"""`python -m cmbuild`: the command line."""

import sys

if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # the working folder, where anyone may have put a numpy.py

from cmbuild.cli import main

sys.exit(main())
