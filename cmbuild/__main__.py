"""`python -m cmbuild`: the command line."""

import sys

from cmbuild.cli import main

sys.exit(main())
