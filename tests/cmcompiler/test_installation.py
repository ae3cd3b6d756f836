"""Commands that install what is missing."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from cmcompiler import installation


def test_outside_a_checkout_extras_come_from_the_index(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(installation, "checkout", lambda: None)
    monkeypatch.setattr(sys, "executable", "/a b/python")
    monkeypatch.setattr(installation, "_origin", lambda: None)
    assert installation.pip_command("build") == "'/a b/python' -m pip install 'cmbuild[build]'"


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        (None, None),
        ('{"url": "file:///w/cmbuild.whl", "archive_info": {}}', "file:///w/cmbuild.whl"),
        ('{"url": "https://h/r.git", "vcs_info": {"vcs": "git"}}', "git+https://h/r.git"),
    ],
)
def test_extras_come_from_where_cmbuild_came(
    record: str | None, origin: str | None, monkeypatch: pytest.MonkeyPatch
):
    """It is not on PyPI, so its name alone would lead nowhere."""
    installed = SimpleNamespace(read_text=lambda name: record)
    monkeypatch.setattr(installation, "checkout", lambda: None)
    monkeypatch.setattr(metadata, "distribution", lambda name: installed)
    wanted = f"cmbuild[export] @ {origin}" if origin else "cmbuild[export]"
    assert shlex.split(installation.pip_command("export"))[-3:] == [
        "--extra-index-url",
        installation.TORCH_INDEX,
        wanted,
    ]
