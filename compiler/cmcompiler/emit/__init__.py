"""From a plan to C source, and the files beside it."""

from cmcompiler.emit.folder import emit, read_record

__all__ = ["emit", "read_record"]
