from __future__ import annotations

import ast
import math
import subprocess
import sys
from pathlib import Path

import pytest

import cmcompiler
from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend import job as records
from cmcompiler.frontend.fidelity.record import ProgramFidelity
from cmcompiler.frontend.job import (
    CalibrationRecord,
    ExportJob,
    ExportRecord,
    dependencies,
    read,
    superseded,
    versions,
)
from cmcompiler.frontend.quantized import Refinement
from cmcompiler.frontend.weights import Origin

FOLDER = Path(cmcompiler.__file__).parent


def names(files) -> set[str]:
    return {file.relative_to(FOLDER).as_posix() for file in files if FOLDER in file.parents}


def test_the_orchestrators_side_imports_no_torch():
    program = (
        "import sys; from cmcompiler import zoo; from cmcompiler.frontend import export, job;"
        "zoo.models();"
        "job.dependencies(job.ExportJob(model='mv2', output='x')); job.versions();"
        "sys.exit('torch' in sys.modules or 'executorch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def imports(file: Path) -> set[Path]:
    """Modules of the compiler that a file imports anywhere."""
    collected = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cmcompiler"):
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                path = FOLDER.parent.joinpath(*name.split("."))
                collected |= {
                    f for f in (path.with_suffix(".py"), path / "__init__.py") if f.is_file()
                }
    return collected


def test_a_job_depends_on_all_that_it_runs_through():
    reached, ahead = set(), [FOLDER / "frontend" / "export.py", FOLDER / "zoo" / "mv2.py"]
    while ahead:
        file = ahead.pop()
        if file not in reached:
            reached.add(file)
            ahead += imports(file)
    without_effect = {"__init__.py", "errors.py", "installation.py", "quiet.py", "suggest.py"}
    depended = names(dependencies(ExportJob(model="mv2", output="x")))
    missing = names(reached) - without_effect - depended
    # All of the frontend counts, the modules that the zoo's models share, and the packages that the
    # reference of a program runs through.
    whole = ("frontend/", "zoo/_", "decode/", "importer/", "ir/", "ops/", "pte/")
    needless = {name for name in depended - names(reached) if not name.startswith(whole)}
    assert (missing, needless) == (set(), set())


def test_a_job_depends_on_its_model_weights_and_calibration(tmp_path):
    (tmp_path / "calibration").mkdir()
    files = [tmp_path / "net.py", tmp_path / "w.pth"]
    files += [tmp_path / "calibration" / name for name in ("a.npy", "b.pt")]
    for file in files:
        file.touch()
    job = ExportJob(
        model=f"{files[0]}:make",
        weights=files[1],
        calibration=tmp_path / "calibration",
        output=tmp_path / "out",
    )
    assert [file for file in dependencies(job) if tmp_path in file.parents] == files
    assert not any(name.startswith("zoo/") for name in names(dependencies(job)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "mv22"}, "unknown model mv22"),
        ({"target": "cortex-m99"}, "unknown target cortex-m99"),
        ({"weights": "missing.pth"}, "no such file: missing.pth"),
        ({"calibration": "missing"}, "no such file or folder: missing"),
    ],
)
def test_what_a_job_names_must_exist(changes, message):
    with pytest.raises(InvalidRequest, match=message):
        dependencies(ExportJob(**({"model": "mv2", "output": "x"} | changes)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Invalid JSON"),
        ('{"output": "x"}', "model: Field required"),
        ('{"model": "mv2", "output": "x", "sede": 1}', "sede: Extra inputs are not permitted"),
        ('{"model": "mv2", "output": "x", "seed": "a"}', "seed: Input should be a valid integer"),
        ('{"model": "mv2", "output": "x", "seed": -1}', "seed: Input should be greater than or eq"),
    ],
)
def test_a_bad_job_is_one_line_with_its_key(tmp_path, text, message):
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(InvalidRequest) as caught:
        read(ExportJob, tmp_path / "job.json")
    assert f"{tmp_path / 'job.json'}: {message}" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_missing_job_is_one_line(tmp_path):
    with pytest.raises(InvalidRequest, match="No such file or directory"):
        read(ExportJob, tmp_path / "job.json")


def record(source: str) -> ExportRecord:
    return ExportRecord(
        fidelity=ProgramFidelity(),
        model="mv2",
        target="cortex-m55",
        seed=0,
        weights=records.Weights(Origin(source), ""),
        versions=dict(versions()),
        task="classification",
        classes=(),
        image=None,
        inputs=(),
        outputs=(),
        calibration=records.CalibrationRecord(samples=1, detail=""),
        samples=records.SamplesRecord(count=1, labels=False, origin="samples"),
        float_operators=(),
        lacking=(),
        layers=(),
        call_sites={},
        instructions={},
        seconds={},
    )


def test_random_weights_are_superseded_once_published_ones_are_here(monkeypatch, tmp_path):
    from cmcompiler import zoo

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    job = ExportJob(model="mv2", output="x")
    assert not superseded(job, record("random"))
    published = zoo.get("mv2").checkpoint.path
    published.parent.mkdir(parents=True)
    published.touch()
    assert superseded(job, record("random"))
    assert not superseded(job, record("pretrained"))
    assert not superseded(ExportJob(model="resnet8", output="x"), record("random"))


def test_versions_are_those_of_what_makes_a_program():
    import executorch.version
    import torch

    assert versions()["torch"] == torch.__version__.partition("+")[0]
    assert versions()["executorch"] == executorch.version.__version__.partition("+")[0]


def test_a_refinement_that_loses_nothing_at_all_is_read_back():
    step = Refinement.of("operators in float", 3.0, math.inf)
    record = CalibrationRecord(samples=1, detail="", held_out=0, refinements=(step,))
    assert CalibrationRecord.model_validate_json(record.model_dump_json()) == record
    assert step.snr_db == 150.0
