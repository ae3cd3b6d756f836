"""What `--json` prints is what `cmbuild schema` says."""

from __future__ import annotations

import json
from pathlib import Path

import click
import jsonschema
import pytest
from harness.commands import NETWORK, PROGRAMS, Commands

from cmbuild.cli.group import Verbs
from cmbuild.cli.root import cli
from cmbuild.cli.schemas import documents, schema

MISSING = PROGRAMS / "missing.pte"

CALLS: dict[str, list[tuple[str | Path, ...]]] = {
    "bench": [("--models", f"{NETWORK},{PROGRAMS / 'dynamic_shape.pte'}", "--boards", "native")],
    "boards": [(), ("corstone300",), ("nothing",)],
    "build": [(NETWORK, "--board", "native"), (MISSING, "--board", "native")],
    "check": [()],
    "chips": [("STM32F411",), ("nothing",)],
    "clean": [()],
    "compare": [("nothing",)],
    "completion": [("bash",)],
    "doctor": [()],
    "eval": [(NETWORK,)],
    "export": [(NETWORK,)],
    "fit": [(NETWORK,), (MISSING,)],
    "flash": [(NETWORK, "--board", "rp2350", "--dry-run")],
    "models": [()],
    "new": [("board", "mine", "--chip", "STM32F411RE"), ("board", "other")],
    "package": [(NETWORK,)],
    "schema": [("run",), ()],
    "run": [(NETWORK, "--board", "corstone300"), (MISSING, "--board", "native")],
}


def verbs_with_json() -> set[str]:
    context = cli.make_context("cmbuild", ["models"])
    verbs = Verbs()
    collected = set()
    for name in verbs.list_commands(context):
        command = verbs.get_command(context, name)
        commands = command.commands.values() if isinstance(command, click.Group) else [command]
        if any("--json" in option.opts for each in commands if each for option in each.params):
            collected.add(name)
    return collected


def test_every_verb_takes_json_and_has_a_schema() -> None:
    verbs = set(Verbs().list_commands(cli.make_context("cmbuild", ["models"])))
    assert verbs_with_json() == documents().keys() == verbs


@pytest.mark.parametrize("verb", CALLS)
def test_documents_follow_their_schema(verb: str, cmbuild: Commands) -> None:
    for words in CALLS[verb]:
        printed = cmbuild(verb, *words, "--json").stdout
        jsonschema.validate(json.loads(printed), schema(verb))


def test_a_schema_refuses_other_documents() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"model": "mv2"}, schema("run"))


def test_the_verb_prints_one_or_all(cmbuild: Commands) -> None:
    assert cmbuild("schema", "run").document == schema("run")
    assert cmbuild("schema").document.keys() == documents().keys()
    wrong = cmbuild("schema", "rnu")
    assert (wrong.exit_code, "did you mean run?" in wrong.stderr) == (2, True)


@pytest.mark.long
def test_evaluations_and_exports_follow_their_schema(cmbuild: Commands) -> None:
    """An infinite ratio of signal to noise is null."""
    for words in (("export", "digits"), ("eval", "digits", "--board", "native", "--sensitivity")):
        printed = cmbuild(*words, "--json").stdout
        jsonschema.validate(json.loads(printed), schema(words[0]))
