"""docs/mv2.ipynb runs from top to bottom, and holds nothing of the machine that ran it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FILE = Path(__file__).parents[2] / "docs" / "mv2.ipynb"
NOTEBOOK = nbformat.read(FILE, as_version=4)
MAGIC = "%%writefile "


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """The text of each cell's outputs."""
    for cell in code_cells(notebook):
        texts = [each.get("text") or each.data["text/html"] for each in cell.outputs]
        yield "".join(texts)


def test_it_is_a_valid_notebook() -> None:
    nbformat.validate(NOTEBOOK)
    assert NOTEBOOK.metadata.kernelspec.name == "python3"


@pytest.mark.parametrize("cell", code_cells(NOTEBOOK), ids=lambda cell: cell.id)
def test_each_cell_is_python(cell: nbformat.NotebookNode) -> None:
    source = cell.source
    if source.startswith(MAGIC):
        assert source.splitlines()[0].endswith(".py")
        source = source.partition("\n")[2]
    compile(source, cell.id, "exec")


def test_it_holds_no_path_and_no_error() -> None:
    assert not re.findall(r'/(?:home|root|tmp|usr|work|Users)/[^"\\]*', FILE.read_text())
    kinds = {each.output_type for cell in code_cells(NOTEBOOK) for each in cell.outputs}
    assert kinds == {"stream", "execute_result"}


def test_the_verbs_are_there_in_the_order_of_the_work() -> None:
    source = "\n".join(cell.source for cell in code_cells(NOTEBOOK))
    assert re.findall(r"cmbuild\.(\w+)\(", source) == ["evaluate", "run", "fit", "package"]


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_it_runs(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """With `--rewrite`, its outputs are stored."""
    done = nbformat.from_dict(json.loads(json.dumps(NOTEBOOK)))
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(done, timeout=900, resources=resources, record_timing=False).execute()
    for cell in code_cells(done):
        cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
        for each in cell.outputs:
            if each.output_type == "execute_result":
                del each.data["text/plain"]
    if request.config.getoption("rewrite"):
        nbformat.write(done, FILE)
    text = list(printed(done))
    (share,) = (re.findall(r"([\d.]+)% of 360 held-out", cell) for cell in text[2:3])
    assert float(share[0]) > 95
    rows = dict(re.findall(r"<tr><td>(\w+)</td><td>([\d.]+)</td>", text[3]))
    assert float(rows["reference"]) > float(share[0]) / 100 - 0.02
    assert "verified: True (exact)" in text[5]
    stored = printed(nbformat.read(FILE, as_version=4))
    assert [bool(cell) for cell in text] == [bool(cell) for cell in stored]
    written = {path.name for path in tmp_path.iterdir()}
    assert {"digits_mv2.py", "mv2.pt", "mv2.html", "kit"} <= written
