"""Options of numbers say what they expect."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from cmbuild.cli.numbers import Integer, PositiveNumber
from cmbuild.cli.root import cli


def options(group: click.Group) -> Iterator[tuple[str, click.Parameter]]:
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if isinstance(command, click.Group):
                yield from options(command)
            yield from ((f"{name} {each.name}", each) for each in command.params)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Integer(1), "abc", "'abc' is not an integer from 1"),
        (Integer(1), "", "'' is not an integer from 1"),
        (Integer(1), "1.5", "'1.5' is not an integer from 1"),
        (Integer(1, 9), "10", "'10' is not an integer from 1 to 9"),
        (Integer(1, words=("all",)), "0", "'0' is not an integer from 1, or 'all'"),
        (PositiveNumber(), "abc", "'abc' is not a number above 0"),
        (PositiveNumber(), "-0.0", "'-0.0' is not a number above 0"),
        (PositiveNumber(), "1e999", "'1e999' is not a number above 0"),
        (PositiveNumber(), "nan", "'nan' is not a number above 0"),
    ],
)
def test_a_refusal_says_what_is_expected(kind: click.ParamType, text: str, expected: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        kind.convert(text, None, None)
    assert refused.value.message == expected


def test_what_is_within_is_a_number() -> None:
    assert [Integer(1, 9).convert(text, None, None) for text in ("1", "9")] == [1, 9]
    assert Integer(1, words=("all",)).convert("all", None, None) == "all"
    assert PositiveNumber().convert("0.5", None, None) == 0.5


def test_no_option_is_refused_in_words_of_a_library() -> None:
    ranges = [name for name, option in options(cli) if "range" in option.type.name]
    assert ranges == []
