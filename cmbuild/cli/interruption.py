"""Ctrl-C where no session listens: one line and status 130, at once.

An exception could surface anywhere in an import instead, where it may get lost, or printed.
"""

# What every start of Python has loaded already: nothing may delay the handler, and `signal` loads
# enum first.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

STATUS = 130
LINE = b"error: interrupted\n"
DOCUMENT = b'{\n  "error": "interrupted",\n  "hint": null,\n  "exit_code": 130\n}\n'


def end_on_interrupt() -> "Any":
    """From now on Ctrl-C ends this process. A session's own handler takes precedence while it runs.

    Returns the handler until now. Has no effect in a thread other than the main one, to which
    Python never delivers signals.
    """
    try:
        before = signal.signal(signal.SIGINT, _end)
        # A starter may have blocked it until now, when nothing of ours could have handled it.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        return before
    except KeyboardInterrupt:
        end()
    except ValueError:
        return None


def listen_as(handler: "Any") -> None:
    """Sets the handler that end_on_interrupt returned again."""
    if handler is not None:
        signal.signal(signal.SIGINT, handler)


def ignore_interrupts() -> None:
    """Lets the process end with the status that it has by now."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def end() -> "NoReturn":
    """Ends the process as an interrupted command."""
    try:
        os.write(2, LINE)
        if "--json" in sys.argv:
            os.write(1, DOCUMENT)
    finally:
        os._exit(STATUS)


def _end(number: int, frame: "FrameType | None") -> None:
    end()
