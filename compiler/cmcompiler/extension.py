"""A project's own ops: folders like cmcompiler/ops and runtime/kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmcompiler.usercode import blaming, import_folder


@dataclass(frozen=True, slots=True)
class Extension:
    """Where a project keeps its own ops; nothing is imported until needed.

    Attributes:
        host: folder of modules as in cmcompiler/ops: readers, references, kernel calls.
        kernels: folder of C files as in runtime/kernels.
        torch: folder of modules that register operators with torch, for exports.
    """

    host: Path | None = None
    kernels: Path | None = None
    torch: Path | None = None

    @contextmanager
    def registered(self) -> Iterator[None]:
        """Makes the ops known to programs; errors in the user's code become one line.

        Raises:
            InvalidRequest: names file and line.
        """
        if self.host is None:
            yield
            return
        load_ops(self.host)
        with blaming(self.host, always=False):
            yield


def load_ops(folder: Path) -> None:
    """Imports the op modules of a folder, once, and registers their readers.

    Raises:
        InvalidRequest: names file and line; none of the folder's ops is registered.
    """
    # Imports the built-in ops first: if a name is taken twice, the user's op is refused.
    from cmcompiler.decode.registry import operators

    import_folder(folder, operators())
