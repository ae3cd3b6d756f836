"""Whatever the compiler refuses, the functions raise as CmbuildError."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import cmbuild
from cmbuild.api.translation import own_errors
from cmbuild.errors import ExitCode
from cmcompiler.errors import CompilerError, InvalidRequest, Unsupported

PROGRAM = Path(__file__).parents[2] / "data" / "programs" / "branches.pte"


@pytest.mark.parametrize(
    ("error", "status"), [(InvalidRequest, ExitCode.USAGE), (Unsupported, ExitCode.FAILED)]
)
def test_an_error_of_the_compiler(error: type[CompilerError], status: ExitCode) -> None:
    @own_errors
    def refuse(model: str, *, board: str = "native") -> str:
        raise error(f"no {model} on {board}", "take another")

    with pytest.raises(cmbuild.CmbuildError) as raised:
        refuse("tiny", board="microbit")
    caught = raised.value
    assert (caught.message, caught.hint) == ("no tiny on microbit", "take another")
    assert caught.exit_code is status
    assert list(inspect.signature(refuse).parameters) == ["model", "board"]


def test_a_target_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(cmbuild.CmbuildError, match="unknown target"):
        cmbuild.package(PROGRAM, tmp_path / "package", target="nope")


def test_a_model_that_there_is_not() -> None:
    for function in (cmbuild.run, cmbuild.build, cmbuild.evaluate):
        with pytest.raises(cmbuild.CmbuildError):
            function("no_model_of_this_name", "native")
    with pytest.raises(cmbuild.CmbuildError):
        cmbuild.package("no_model_of_this_name", "package")
