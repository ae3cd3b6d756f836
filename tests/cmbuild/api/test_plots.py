from __future__ import annotations

import pytest

import cmbuild


def test_points_of_anything_become_a_page() -> None:
    points = (cmbuild.Point(n * 1000, n / 10, f"net {n}", "a") for n in range(1, 5))
    html = cmbuild.plot(points, title="Nets", x="cycles", y="accuracy")
    assert html.startswith("<!DOCTYPE html>") and html.count("<g><title>") == 4


def test_what_is_no_point_is_one_line() -> None:
    with pytest.raises(cmbuild.CmbuildError, match=r"\(1, 2\) is not a cmbuild.Point"):
        cmbuild.plot([(1, 2)], title="", x="cycles", y="accuracy")  # type: ignore[list-item]
