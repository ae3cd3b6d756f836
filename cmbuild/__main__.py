"""`python -m cmbuild`: the command line."""

# Nothing that Python has not loaded by now: Ctrl-C would be a traceback until `main` handles it.
import os
import sys

try:
    # The working folder, where anyone may have put a numpy.py, unless it is left out already.
    try:
        if not getattr(sys.flags, "safe_path", False) and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109
            del sys.path[0]
    except FileNotFoundError:
        pass

    from cmbuild.cli import main
except KeyboardInterrupt:
    from cmbuild.cli.interruption import end

    end()

sys.exit(main())
