"""Patterns that give each module its precision."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from cmbuild.mixing.patterns import patterns_of
from cmcompiler.frontend.precision import PRECISIONS

PATHS = ("", "a", "a.0", "a.0.conv", "a.1", "b", "b.deep.er", "c10", "c1")


@given(st.sets(st.sampled_from(PATHS), min_size=1), st.randoms(use_true_random=False))
def test_the_last_that_matches_is_the_modules_own(paths: set[str], random: object) -> None:
    chosen = {path: random.choice(PRECISIONS) for path in sorted(paths)}  # type: ignore[attr-defined]
    patterns = patterns_of(list(chosen), list(chosen.values()))
    for path, kind in chosen.items():
        around = ["", *(path[:at] for at, letter in enumerate(path) if letter == "."), path]
        matches = [k for p, k in patterns if any(fnmatchcase(each, p) for each in around)]
        assert matches[-1] == kind


def test_one_pattern_says_it_where_all_are_alike() -> None:
    assert patterns_of(["", "a", "b"], ["4w8a"] * 3) == (("*", "4w8a"),)
    assert patterns_of(["a", "b", "c"], ["8w8a", "8w16a", "8w8a"]) == (
        ("*", "8w8a"),
        ("b", "8w16a"),
    )
