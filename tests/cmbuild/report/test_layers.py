"""The table of `--layers` with types."""

from __future__ import annotations

from harness.results import placed_layer

from cmbuild.report.layers import layer_lines


def test_types_are_a_column_where_they_differ() -> None:
    plain = placed_layer("a", "conv2d 1×1", precision="8w8a")
    short = placed_layer("b", "conv2d 1×1", precision="8w16a")
    head, *rows = [line.plain.split() for line in layer_lines([plain, short])]
    assert "type" in head
    assert ["8w8a" in rows[0], "8w16a" in rows[1]] == [True, True]
    head, row = [line.plain.split() for line in layer_lines([plain])]
    assert "type" not in head and "8w8a" not in row
