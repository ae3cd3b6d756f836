"""Tests that fail before and after what they test, and that are skipped."""

import pytest


@pytest.fixture
def breaks_before():
    raise RuntimeError("not even begun")


@pytest.fixture
def breaks_after():
    yield
    raise RuntimeError("not cleaned up")


def test_before(breaks_before):
    pass


def test_after(breaks_after):
    pass


@pytest.mark.skip(reason="somebody has to write it")
def test_skipped():
    raise AssertionError


def test_subtests(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number >= 0
