"""What is kept of an image is what its file says."""

from __future__ import annotations

from pathlib import Path

from harness.images import kernel_harness

from cmbuild.image import elf
from cmbuild.image.record import ImageRecord


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    image = kernel_harness("corstone300", "mve", tmp_path).image
    record = ImageRecord.of(image)
    record.write(tmp_path)
    assert ImageRecord.read(tmp_path) == record
    assert record.vectors == elf.vectors(image)
    assert record.vectors is not None
    assert record.functions["cm_reset"] == record.vectors.reset & ~1
    assert record.sections[".text"] % 2 == 0
    assert any(segment.loaded for segment in record.segments)


def test_a_program_for_this_computer_has_no_vectors(tmp_path: Path) -> None:
    record = ImageRecord.of(kernel_harness("native", "scalar", tmp_path).image)
    assert record.vectors is None
    assert "main" in record.functions
