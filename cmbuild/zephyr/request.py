"""A user's request of Zephyr: an application, a board for it, and its options."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from cmbuild.pipeline.options import option
from cmbuild.pipeline.request import build_dir_option


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplicationRequest:
    """A Zephyr application on a board, in a folder zephyr/<sample>-<board> of build_dir.

    Attributes:
        sample: name of a sample of cmbuild, or a folder.
        definitions: further ones for Zephyr's build, such as -DCONFIG_SHELL=y.
    """

    sample: str
    board: str = option("Zephyr's name of the board.", MISSING, flags=("-b",), metavar="NAME")
    model: str | None = option(
        "Instead of the sample's model: a package, a .pte or .tflite, or any MODEL of `package`.",
        metavar="MODEL",
    )
    workspace: Path | None = option(
        "By default found from $ZEPHYR_BASE or the current folder.", metavar="DIR"
    )
    timeout: float | None = option(
        "Time limit for the run, or the flash program.", metavar="SECONDS"
    )
    build_dir: Path = build_dir_option()
    definitions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return Path(self.sample).name

    @property
    def place(self) -> str:
        return f"{self.name}-{self.board.replace('/', '_')}"

    @property
    def folder(self) -> Path:
        return self.build_dir.absolute() / "zephyr" / self.place
