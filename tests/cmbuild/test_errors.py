from __future__ import annotations

import pytest

from cmbuild.errors import CmbuildError, ExitCode, UnknownName, from_compiler
from cmcompiler.errors import InvalidProgram, InvalidRequest, MissingPackage, Unsupported


class DoesNotFit(CmbuildError):
    template = "{needed:,} bytes in {region}"
    hint = "fewer than\n {needed:,}"


def test_message_and_hint_are_one_line_each_from_the_same_fields() -> None:
    error = DoesNotFit(needed=1509744, region="sram\nof rp2350")
    assert (str(error), error.hint) == (
        "1,509,744 bytes in sram of rp2350",
        "fewer than 1,509,744",
    )


def test_given_hint_is_taken_as_it_is() -> None:
    assert DoesNotFit(needed=1, region="sram", hint="{braces}").hint == "{braces}"
    assert DoesNotFit(needed=1, region="sram", hint=None).hint is None


def test_unknown_name_with_braces() -> None:
    error = UnknownName(kind="board", name="{corstone}300", known=["corstone300", "native"])
    assert (error.message, error.hint) == (
        "unknown board '{corstone}300'",
        "did you mean corstone300?",
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidProgram("offset 7 outside"), ExitCode.USAGE),
        (InvalidRequest("no such target"), ExitCode.USAGE),
        (Unsupported("delegate {x}", "lower it"), ExitCode.FAILED),
        (MissingPackage("torch", "pip install {it}"), ExitCode.MISSING),
    ],
)
def test_compiler_errors_keep_their_words(error: Exception, code: ExitCode) -> None:
    mapped = from_compiler(error)  # type: ignore[arg-type]
    assert (mapped.message, mapped.hint, mapped.exit_code) == (error.message, error.hint, code)  # type: ignore[attr-defined]
