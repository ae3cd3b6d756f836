"""Checks samples' console output against their sample.yaml."""

from __future__ import annotations

import re

import yaml

from harness.zephyr import SAMPLES


def assert_console(sample: str, printed: str) -> None:
    """Asserts that twister would find its regular expressions on the console, in order."""
    described = yaml.safe_load((SAMPLES / sample / "sample.yaml").read_text())
    config = described["common"]["harness_config"]
    assert config["ordered"]
    left = iter(printed.splitlines())
    for wanted in config["regex"]:
        assert any(re.search(wanted, line) for line in left), f"{wanted} not in\n{printed}"
