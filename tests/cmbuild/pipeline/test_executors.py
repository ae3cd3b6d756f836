"""Every executor that a request can name has a runner."""

from __future__ import annotations

import pytest

from cmbuild.pipeline.executors import contributed
from cmbuild.pipeline.request import EXECUTORS


@pytest.mark.parametrize("executor", EXECUTORS[1:])
def test_each_executor_contributes_its_runner(executor: str) -> None:
    assert callable(contributed(executor))
