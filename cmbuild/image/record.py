"""image.json: what later stages need to know of an image, so that they need not open it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from cmbuild.image import elf
from cmbuild.image.elf import NoVectors, Segment, Sizes, Vectors

RECORD = "image.json"


class ImageRecord(BaseModel):
    """An image.

    Attributes:
        vectors: None for a program for this computer.
        segments: its PT_LOAD segments.
        sections: addresses of sections that take memory, by name.
        functions: addresses of functions by name, without the Thumb bit.
        stack_problem: why its stack is assumed: `walk calls itself`; None if it is not.
    """

    model_config = ConfigDict(frozen=True)

    sizes: Sizes
    vectors: Vectors | None
    segments: tuple[Segment, ...]
    sections: dict[str, int]
    functions: dict[str, int]
    stack_problem: str | None = None

    @classmethod
    def of(cls, image: Path, stack_problem: str | None = None) -> ImageRecord:
        """
        Args:
            stack_problem: see the class.
        """
        try:
            vectors = elf.vectors(image)
        except NoVectors:
            vectors = None
        return cls(
            sizes=elf.sizes(image),
            vectors=vectors,
            segments=tuple(elf.segments(image)),
            sections={section.name: section.address for section in elf.sections(image)},
            functions=elf.functions(image),
            stack_problem=stack_problem,
        )

    @classmethod
    def read(cls, folder: Path) -> ImageRecord:
        """The one written beside an image."""
        return cls.model_validate_json((folder / RECORD).read_bytes())

    def write(self, folder: Path) -> None:
        (folder / RECORD).write_text(self.model_dump_json())
