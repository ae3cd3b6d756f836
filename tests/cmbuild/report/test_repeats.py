"""An unrolled loop is shown once, its turns are counted, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmbuild.cycles.explanation import TimedInstruction
from cmbuild.report.repeats import repeats


def timed(names: str) -> list[TimedInstruction]:
    return [
        TimedInstruction(index, f"{name} r{index}", 1.0, 0.0, "")
        for index, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ("abc", [("abc", 0)]),
        ("abab", [("abab", 0)]),
        ("ababab", [("ab", 2)]),
        ("xabcdabcdabcdy", [("x", 0), ("abcd", 2), ("y", 0)]),
        ("aaaaa", [("a", 4)]),
        ("aabaabaab", [("aab", 2)]),
        ("abcdabcdefghefgh", [("abcd", 1), ("efgh", 1)]),
        ("", []),
    ],
)
def test_turns_are_counted(names: str, parts: list[tuple[str, int]]) -> None:
    actual = [
        ("".join(each.text[0] for each in part.first), part.turns) for part in repeats(timed(names))
    ]
    assert actual == parts


@given(st.text("abc", max_size=40))
def test_no_instruction_is_lost(names: str) -> None:
    instructions = timed(names)
    parts = list(repeats(instructions))
    assert [each for part in parts for each in (*part.first, *part.more)] == instructions
    assert all(len(part.more) == part.turns * len(part.first) for part in parts)
