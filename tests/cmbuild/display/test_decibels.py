"""Ratios in dB in schemas."""

from __future__ import annotations

from pydantic import TypeAdapter

from cmbuild.display.decibels import Decibels


def test_a_ratio_without_error_is_null_in_json() -> None:
    assert TypeAdapter(Decibels).json_schema() == {"type": ["number", "null"]}
