from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness.exports import export, exported, without_published_weights
from harness.pte import operators

from cmcompiler.__main__ import _export
from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.export import Exporter, _replaced
from cmcompiler.frontend.job import OUTPUTS, PROGRAM, RECORD, SAMPLES, ExportRecord, read
from cmcompiler.frontend.vectors import Samples
from cmcompiler.installation import pip_command

NET = """
import torch

print("loading net.py")

def model():
    return torch.nn.Linear(4, 3), torch.rand(1, 4), [torch.rand(1, 4) for _ in range(3)]

def untraceable():
    class Module(torch.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    return Module(), torch.rand(1, 4)
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "net.py").write_text(NET)

    def write(name: str, **fields: object) -> Path:
        job = {"model": str(tmp_path / "net.py"), "output": str(tmp_path / name)} | fields
        (tmp_path / f"{name}.json").write_text(json.dumps(job))
        return tmp_path / f"{name}.json"

    return write


def events(result: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def folders(place: Path) -> list[str]:
    """Names of the folders in a folder, except Python's bytecode cache."""
    return sorted(p.name for p in place.iterdir() if p.is_dir() and p.name != "__pycache__")


def test_jobs_make_folders_and_a_failed_one_does_not_stop_the_others(write, tmp_path):
    jobs = [
        write("first"),
        write("typo", target="cortex-m54"),
        write("second", target="cortex-m33"),
        write("float", model=f"{tmp_path / 'net.py'}:untraceable"),
    ]
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "stale").touch()
    result = export(jobs)
    seen = events(result)

    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    # The two good jobs differ only in their target: loaded and quantised once.
    assert result.stderr.count("loading net.py") == 2
    steps = [(e["job"], e["step"]) for e in seen if e["event"] == "step" and e["job"] != 3]
    alone = ("import", "load", "quantize", "evaluate", "lower", "compare", "write")
    again = ("import", "lower", "compare", "write")
    assert steps == [(0, s) for s in alone] + [(2, s) for s in again]
    assert [e["job"] for e in seen if e["event"] == "done"] == [0, 2]
    typo, untraceable = (e for e in seen if e["event"] == "error")
    assert (typo["job"], typo["kind"]) == (1, "invalid")
    assert typo["error"] == "unknown target cortex-m54"
    assert typo["hint"].startswith("did you mean cortex-m")
    assert (untraceable["job"], untraceable["kind"]) == (3, "unsupported")

    assert folders(tmp_path) == ["first", "second"]
    for name in ("first", "second"):
        files = {path.name for path in (tmp_path / name).iterdir()}
        assert files == {PROGRAM, RECORD, SAMPLES, OUTPUTS}
        assert operators((tmp_path / name / PROGRAM).read_bytes()) == {
            "cortex_m::quantize_per_tensor": 1,
            "cortex_m::quantized_linear": 1,
            "cortex_m::dequantize_per_tensor": 1,
        }
        assert Samples.load(tmp_path / name / SAMPLES).inputs[0].shape == (3, 1, 4)
    record = read(ExportRecord, tmp_path / "first" / RECORD)
    assert (record.target, record.weights.source.value) == ("cortex-m55", "given")
    assert record.calibration.samples == record.samples.count == 3
    assert record.inputs[0].model_dump() == {"name": "input", "shape": (1, 4), "dtype": "float32"}
    assert set(record.seconds) == set(alone) - {"write"}


def test_equal_jobs_make_equal_files(tmp_path):
    (first,) = exported("digits")
    job = {"model": "digits", "output": str(tmp_path / "again")}
    (tmp_path / "job.json").write_text(json.dumps(job))
    result = export([tmp_path / "job.json"])
    assert result.returncode == 0, result.stdout + result.stderr
    for name in (PROGRAM, SAMPLES, OUTPUTS):
        assert (tmp_path / "again" / name).read_bytes() == (first / name).read_bytes()
    records = [read(ExportRecord, folder / RECORD) for folder in (first, tmp_path / "again")]
    assert (
        len({record.model_copy(update={"seconds": {}}).model_dump_json() for record in records})
        == 1
    )


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"model": "mv22"}, 2, "unknown model mv22"),
        ({"seeed": 1}, 2, "seeed: Extra inputs are not permitted"),
    ],
)
def test_an_error_is_one_json_line_and_an_exit_status(write, fields, status, message):
    result = export([write("job", **fields)])
    (error,) = events(result)
    assert result.returncode == status
    assert message in error["error"]
    assert result.stderr == ""


def test_a_missing_package_is_named_with_what_installs_it(write, tmp_path):
    (tmp_path / "hidden" / "executorch").mkdir(parents=True)
    (tmp_path / "hidden" / "executorch" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'executorch'\", name='executorch')"
    )
    environment = {**without_published_weights(), "PYTHONPATH": str(tmp_path / "hidden")}
    result = export([write("job")], environment)
    error = events(result)[-1]
    assert result.returncode == 3
    assert error["kind"] == "missing"
    assert "executorch" in error["error"]
    assert error["hint"] == pip_command("export")


def test_interrupting_leaves_nothing_behind(write, tmp_path):
    (tmp_path / "net.py").write_text("import time\nprint('loading', flush=True)\ntime.sleep(60)")
    command = [sys.executable, "-m", "cmcompiler", "export", str(write("job"))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stderr.readline() == b"loading\n"
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        assert process.returncode == 130
        assert process.stderr.read() == b""
    assert folders(tmp_path) == []


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "parent" / "out"
    with _replaced(folder) as new:
        (new / "file").write_text("old")
        assert not folder.exists()
    with pytest.raises(RuntimeError), _replaced(folder) as new:
        (new / "file").write_text("half")
        raise RuntimeError
    assert (folder / "file").read_text() == "old"
    with _replaced(folder) as new:
        (new / "other").write_text("new")
    assert [path.name for path in folder.iterdir()] == ["other"]
    assert [path.name for path in folder.parent.iterdir()] == ["out"]


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(InvalidRequest, match=r"out cannot be written: .*Not a directory"),
        _replaced(tmp_path / "file" / "out"),
    ):
        pass


def test_the_event_stream_survives_output_of_c_code(write, tmp_path):
    text = NET + "\nimport os; os.write(1, b'not json\\n')"
    (tmp_path / "net.py").write_text(text)
    result = export([write("job")])
    assert result.returncode == 0, result.stderr
    assert events(result)[-1]["event"] == "done"
    assert "not json" in result.stderr
    assert os.fspath(tmp_path / "job") == events(result)[-1]["output"]


def test_an_unexpected_error_is_one_json_line_too(write, monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("one\ntwo")

    monkeypatch.setattr(Exporter, "run", broken)
    emitted: list[dict[str, object]] = []
    status = _export([write("job")], False, lambda **fields: emitted.append(fields))
    assert status == 1
    (error,) = emitted
    assert (error["error"], error["kind"]) == ("unexpected RuntimeError: one", "unsupported")
    assert "Traceback" in capsys.readouterr().err


def test_an_error_in_forward_is_shown_before_anything_heavy_is_imported(tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x @ torch.ones(5, 3)\n\ndef model():\n    return Net(), torch.ones(1, 4)\n"
    )
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from cmcompiler.errors import Unsupported\n"
        "from cmcompiler.frontend.export import Exporter\n"
        "from cmcompiler.frontend.job import ExportJob\n"
        "try:\n"
        "    Exporter(lambda step: None).run(ExportJob(model='net.py', output=Path('out')))\n"
        "except Unsupported as error:\n"
        "    print(error.message)\n"
        "assert not {'torchao', 'executorch'} & set(sys.modules)\n"
    )
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("net.py:5: RuntimeError: mm: mat1 and mat2 shapes")
