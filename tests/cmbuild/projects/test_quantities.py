"""Numbers as people write them."""

from __future__ import annotations

import pytest

from cmbuild.projects.quantities import parse_bytes, parse_count, parse_decibels, parse_share


@pytest.mark.parametrize(
    ("parse", "written", "number"),
    [
        (parse_bytes, 4096, 4096),
        (parse_bytes, "64K", 65_536),
        (parse_bytes, "1.5 MB", 1_572_864),
        (parse_count, "3.9M", 3_900_000),
        (parse_count, "10k", 10_000),
        (parse_share, "93 %", 0.93),
        (parse_share, 1, 1.0),
        (parse_decibels, "-3.5 dB", -3.5),
        (parse_decibels, 30, 30.0),
    ],
)
def test_written_numbers(parse, written, number):
    assert parse(written) == number


@pytest.mark.parametrize(
    ("parse", "written"),
    [
        *((parse_bytes, bad) for bad in ("64Q", "", "-1", -1, 1.5, True, None)),
        *((parse_count, bad) for bad in ("3.9 million", "1e6", False)),
        *((parse_share, bad) for bad in ("93", 93, "101%", -0.1, True)),
        *((parse_decibels, bad) for bad in ("loud", True, "30 %")),
    ],
)
def test_anything_else_is_refused(parse, written):
    with pytest.raises(ValueError, match="is not a"):
        parse(written)
