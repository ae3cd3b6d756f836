"""A user's own ops: folders like cmcompiler/ops and runtime/kernels, kept with their project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmcompiler.usercode import blaming, import_folder


@dataclass(frozen=True, slots=True)
class Extension:
    """Where a project keeps ops of its own; nothing is imported before it is asked for.

    Attributes:
        host: folder of modules as in cmcompiler/ops: readers, references, kernel calls.
        kernels: folder of C files as in runtime/kernels.
        torch: folder of modules that tell torch of operators, for exports.
    """

    host: Path | None = None
    kernels: Path | None = None
    torch: Path | None = None

    @contextmanager
    def registered(self) -> Iterator[None]:
        """Programs may contain the ops; what goes wrong in the user's code is one line.

        Raises:
            InvalidRequest: naming file and line.
        """
        if self.host is None:
            yield
            return
        load_ops(self.host)
        with blaming(self.host, always=False):
            yield


def load_ops(folder: Path) -> None:
    """Imports the op modules of a folder, once; their readers are known from then on.

    Raises:
        InvalidRequest: naming file and line; none of the folder's ops is known then.
    """
    # With it come our own ops: of a name that is taken twice, the user's is refused.
    from cmcompiler.decode.registry import operators

    import_folder(folder, operators())
