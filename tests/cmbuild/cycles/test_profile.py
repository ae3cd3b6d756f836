"""The plugin's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.cycles.profile import BrokenProfile, FlashCounts, TranslationBlock, read_profile

WHOLE = "block 1 10000400 7\nsegment\n0 1 1\nblock 2 1000040e 3\nsegment\n1 2 5\n2 2 90\nend\n"


def test_segments_hold_how_often_a_block_followed_another(tmp_path: Path) -> None:
    file = tmp_path / "blocks.txt"
    file.write_text(WHOLE)
    profile = read_profile(file)
    assert profile.blocks == {
        1: TranslationBlock(0x10000400, 7),
        2: TranslationBlock(0x1000040E, 3),
    }
    assert list(profile.segments) == [{(0, 1): 1}, {(1, 2): 5, (2, 2): 90}]


def test_reads_of_flash_stand_after_their_segment(tmp_path: Path) -> None:
    file = tmp_path / "blocks.txt"
    file.write_text("block 1 100 7\nsegment\n0 1 1\nflash 1 2 3 4 5 6 7\nend\n")
    assert read_profile(file).flash == (FlashCounts(1, 2, 3, 4, 5, 6, 7),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (WHOLE.removesuffix("end\n"), "cut short"),
        ("", "cut short"),
        (WHOLE.replace("segment", "hello"), "unexpected line 'hello'"),
        (WHOLE.replace("0 1 1", "0 x 1"), "invalid literal"),
        ("block 1 zz 3\nend\n", "invalid literal"),
        (WHOLE.replace("0 1 1", "0 1 1\nflash 1 2 3 4 5 6 7"), "lacks reads of flash"),
        (WHOLE.replace("0 1 1", "flash 1 2"), "invalid literal"),
    ],
)
def test_a_broken_file_is_one_clear_line(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "blocks.txt"
    file.write_text(text)
    with pytest.raises(BrokenProfile, match=reason) as caught:
        read_profile(file)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_too(tmp_path: Path) -> None:
    with pytest.raises(BrokenProfile, match=r"blocks\.txt"):
        read_profile(tmp_path / "blocks.txt")
