"""Errors of libraries that run user code lead to the user's line and the real reason."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch

from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.usercode import reason_of, unsupported

MODEL = """\
def forward(x):
    return broken(x)

def broken(x):
    raise ValueError("first line\\nsecond line")
"""


@pytest.fixture
def forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(MODEL)
    code = compile(MODEL, str(tmp_path / "net.py"), "exec")
    names: dict[str, object] = {}
    exec(code, names)
    return names["forward"]


def message(action) -> str:
    with pytest.raises(Unsupported) as caught, unsupported("torch.export"):
        action()
    assert "\n" not in caught.value.message
    return caught.value.message


def test_the_users_line_comes_first(forward) -> None:
    wanted = "net.py:5: torch.export cannot take this model: ValueError: first line"
    assert message(lambda: forward(1)) == wanted


def test_the_innermost_reason_counts(forward) -> None:
    """A pass manager says which pass failed; its cause says why."""

    def fail() -> None:
        try:
            forward(1)
        except ValueError as error:
            raise RuntimeError("An error occurred when running the 'X' pass") from error

    assert message(fail).endswith(
        "net.py:5: torch.export cannot take this model: ValueError in X: first line"
    )


def test_a_quoted_traceback_gives_the_line(forward) -> None:
    """As torch.fx and torch.export quote the line of a node."""

    def fail() -> None:
        quoted = f'File "{Path("net.py").resolve()}", line 2, in forward'
        library = f'File "{inspect.__file__}", line 7, in other'
        raise KeyError(f"no such op\n\nfrom user code:\n  {quoted}\n  {library}")

    assert message(fail).startswith("net.py:2: torch.export cannot take this model: KeyError: ")


def test_an_error_without_a_line_or_a_reason() -> None:
    class Library(Exception):
        pass

    def fail() -> None:
        exec(compile("raise error", "<library>", "exec"), {"error": Library()})

    said = message(fail)
    assert said.endswith("torch.export cannot take this model: Library: no reason given")


def test_our_own_errors_pass() -> None:
    with pytest.raises(InvalidRequest, match="ours"), unsupported("torch.export"):
        try:
            raise InvalidRequest("ours")
        except InvalidRequest as error:
            raise RuntimeError("theirs") from error


def test_a_long_reason_is_cut() -> None:
    assert reason_of(ValueError("word " * 100)).endswith("word …")
    assert reason_of(ValueError()) == "no reason given"


PASS = """\
def run(node, unsupported):
    with unsupported("a pass"):
        raise KeyError(node.name)
"""


def test_a_pass_that_fails_names_the_line_of_its_operator(tmp_path: Path) -> None:
    (tmp_path / "net.py").touch()
    node = torch.fx.Graph().placeholder("x")
    scope: dict[str, Any] = {}
    exec(compile(PASS, "<library>", "exec"), scope)
    node.meta["stack_trace"] = f'File "{tmp_path / "net.py"}", line 3, in forward\n'
    with pytest.raises(Unsupported, match=r"net\.py:3: a pass cannot take .*KeyError: 'x'"):
        scope["run"](node, unsupported)
    node.meta = {"nn_module_stack": {"0": ("blocks.0", object)}}
    with pytest.raises(Unsupported, match=r"^module blocks\.0: a pass cannot take"):
        scope["run"](node, unsupported)
