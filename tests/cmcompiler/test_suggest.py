"""Hints for names that nothing has."""

from __future__ import annotations

from cmcompiler.suggest import did_you_mean, likeness


def test_the_closest_names_are_suggested() -> None:
    assert did_you_mean("rnu", ["run", "build"]) == "did you mean run?"
    assert did_you_mean("mv2", ["mv3", "mv1"]) == "did you mean mv1 or mv3?"


def test_all_are_named_if_none_is_close() -> None:
    assert did_you_mean("zzz", ["run", "build"]) == "known: build, run"


def test_equal_names_are_as_alike_as_can_be() -> None:
    assert likeness("run", "run") == 1 > likeness("run", "rum") > likeness("run", "fit")
