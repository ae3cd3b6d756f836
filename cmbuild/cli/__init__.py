"""The command line: a face on the task graph, with one module per verb."""

# Only what Python has loaded by then: before the handler, Ctrl-C would be a traceback.
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Runs a command; returns its exit code.

    Args:
        arguments: by default the process's own: it is about to end with the exit code then.
    """
    try:
        from cmbuild.cli.interruption import end_on_interrupt, ignore_interrupts, listen_as

        before = end_on_interrupt()
        import gc

        # A command makes long-lived objects and ends: the default, 700, looks through them in vain.
        gc.set_threshold(50_000)
        from cmbuild.cli.root import run

        status = run(sys.argv[1:] if arguments is None else arguments)
        if arguments is None:
            ignore_interrupts()
        else:
            listen_as(before)
    except KeyboardInterrupt:
        from cmbuild.cli.interruption import end

        end()
    return status
