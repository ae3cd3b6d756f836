"""Each stage of an export as text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from cmcompiler.errors import CompilerError
from cmcompiler.frontend.export import Exporter
from cmcompiler.frontend.intermediates import Intermediates
from cmcompiler.frontend.job import INTERMEDIATES, PROGRAM, ExportJob
from cmcompiler.frontend.lowering import lower_with_nodes
from cmcompiler.frontend.quantization import quantize
from cmcompiler.target import Target

STAGES = ["exported", "rewritten", "annotated", "quantised", "edge"]
NET = """
import torch


def make():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    return module, torch.rand(1, 8), [torch.rand(1, %d) for _ in range(2)]
"""


def test_files_are_in_order(tmp_path: Path):
    first = Intermediates(tmp_path / "a")
    assert not (tmp_path / "a").exists()
    first.note("one", "text\n")
    first.note("two", "more")
    second = Intermediates(tmp_path / "b", first.texts)
    second.note("three", "")
    for folder, names in (("a", ["one", "two"]), ("b", ["one", "two", "three"])):
        files = sorted(file.name for file in (tmp_path / folder).iterdir())
        assert files == [f"{index:02}-{name}.txt" for index, name in enumerate(names)]
    assert (tmp_path / "b" / "00-one.txt").read_text() == "text\n"


def test_looking_changes_nothing(tmp_path: Path):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Softplus())
    inputs = (torch.rand(1, 1, 4, 4),)
    stages = Intermediates(tmp_path)
    target = Target.parse("cortex-m33")
    plain = lower_with_nodes(quantize(module, inputs, [inputs], refinement=False), target)
    quantized = quantize(module, inputs, [inputs], refinement=False, note=stages.note)
    assert lower_with_nodes(quantized, target, stages.note).program == plain.program

    names = [name[3:-4] for name in stages.texts]
    assert names[: len(STAGES)] == STAGES
    passes = [name for name in names if name.startswith("after-")]
    assert "after-AtenToCortexMPass" in passes
    assert names == [*STAGES, *passes, "executorch"]
    texts = dict(zip(names, stages.texts.values(), strict=True))
    assert "quantize_per_tensor" in texts["quantised"]
    assert "quantize_per_tensor" not in texts["rewritten"]
    assert "cortex_m" not in texts["edge"]
    assert "cortex_m_quantized_depthwise_conv2d" in texts["after-AtenToCortexMPass"]
    annotated = texts["annotated"]
    assert "conv2d = aten.conv2d.default(" in annotated
    assert "int8 per_tensor_affine, HistogramObserver" in annotated
    assert " at 0x" not in "".join(texts.values())


def job(folder: Path, columns: int) -> ExportJob:
    (folder / "net.py").write_text(NET % columns)
    return ExportJob(model=f"{folder}/net.py:make", intermediates=True, output=folder / "out")


def test_an_export_has_them(tmp_path: Path):
    export = job(tmp_path, 8)
    Exporter(lambda step: None).run(export)
    files = sorted(file.name for file in (export.output / INTERMEDIATES).iterdir())
    assert files[:5] == [f"{index:02}-{name}.txt" for index, name in enumerate(STAGES)]
    assert f"{tmp_path}/net.py" not in (export.output / PROGRAM).read_bytes().decode("latin1")


def test_one_that_fails_leaves_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A quantisation that ends while it calibrates."""

    def ends(*_: object) -> None:
        raise CompilerError("no range")

    monkeypatch.setattr("cmcompiler.frontend.preparation._observe", ends)
    with pytest.raises(CompilerError, match="no range"):
        Exporter(lambda step: None).run(job(tmp_path, 8))
    files = sorted(file.name for file in (tmp_path / f"out.{INTERMEDIATES}").iterdir())
    assert files == ["00-exported.txt", "01-rewritten.txt", "02-annotated.txt"]
