from __future__ import annotations

import textwrap

import pytest
import torch

from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.frontend.model import Task
from cmcompiler.frontend.source import ExportedArchive, PythonFile, find_source
from cmcompiler.frontend.weights import Origin

HEAD = """
import torch
from torch import nn

def network():
    return nn.Sequential(nn.Linear(4, 3))
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="net.py"):
        (tmp_path / name).write_text(HEAD + textwrap.dedent(text))
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    "text",
    [
        "def model(): return network(), torch.rand(1, 4)",
        "def model(): return network(), (torch.rand(1, 4),), [torch.rand(1, 4)] * 3",
        "model = network(), torch.rand(1, 4)",
        """
        class model:
            def __init__(self):
                self.module, self.example_inputs = network(), torch.rand(1, 4)
        """,
        """
        class model(nn.Linear):
            example_inputs = (torch.ones(1, 4),)
            def __init__(self): super().__init__(4, 3)
        """,
    ],
)
def test_a_callable_may_give_its_model_in_several_ways(write, text):
    model = find_source(str(write(text))).load(seed=0)
    assert model.module(*model.example_inputs).shape == (1, 3)
    assert len(model.calibration) == (3 if "* 3" in text else 1)
    assert model.weights.source is Origin.GIVEN
    assert model.task is Task.UNKNOWN


def test_the_callable_is_named_after_a_colon(write):
    path = write("def small(): return network(), torch.rand(1, 4)")
    assert find_source(f"{path}:small").load(0).example_inputs[0].shape == (1, 4)


def test_samples_and_labels_are_kept(write):
    path = write(
        """
        class model:
            module, example_inputs = network(), torch.rand(1, 4)
            calibration = [torch.rand(1, 4) for _ in range(5)]
            samples = [torch.full((1, 4), float(i)) for i in range(9)]
            labels = [i % 3 for i in range(9)]
        """
    )
    model = find_source(str(path)).load(0)
    assert len(model.samples) == 9
    assert model.samples.labels.tolist() == [0, 1, 2] * 3
    assert model.samples[8][0].tolist() == [[8.0] * 4]


def test_without_data_samples_are_shuffles_of_the_example(write):
    path = write("def model(): return network(), torch.arange(4.0).reshape(1, 4)")
    first, again, other = (find_source(str(path)).load(seed).samples for seed in (0, 0, 1))
    assert len(first) == 8
    assert first[0][0].tolist() == [[0, 1, 2, 3]]
    assert all(sorted(sample[0][0]) == [0, 1, 2, 3] for sample in first)
    assert first.inputs[0].tolist() == again.inputs[0].tolist() != other.inputs[0].tolist()


def test_random_weights_follow_the_seed(write):
    path = str(write("def model(): return network(), torch.rand(1, 4)"))
    zero, again, one = (find_source(path).load(seed).module[0].weight for seed in (0, 0, 1))
    assert torch.equal(zero, again)
    assert not torch.equal(zero, one)


def test_a_state_dict_replaces_the_weights(write, tmp_path):
    path = write("def model(): return network(), torch.rand(1, 4)")
    state = {"0.weight": torch.ones(3, 4), "0.bias": torch.zeros(3)}
    torch.save(state, tmp_path / "w.pth")
    model = find_source(str(path)).load(0, tmp_path / "w.pth")
    assert torch.equal(model.module[0].weight, torch.ones(3, 4))
    assert (model.weights.source, model.weights.detail) == (Origin.FILE, "w.pth")


def test_modules_beside_the_file_can_be_imported_and_are_depended_on(write, tmp_path):
    texts = {
        "unrelated.py": "import helper",
        "helper.py": "from parts import inner",
        "parts/__init__.py": "from .widths import WIDTH",
        "parts/widths.py": "WIDTH = 3",
        "parts/inner.py": "import last",
        "last.py": "",
    }
    (tmp_path / "parts").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    path = write("import numpy, helper\ndef model(): return network(), torch.rand(1, 4)")
    source = find_source(str(path))
    used = {path, *(tmp_path / name for name in texts if name != "unrelated.py")}
    assert len(source.files) == len(used)
    assert set(source.files) == used
    assert source.load(0).module is not None


def test_files_in_different_folders_have_neighbours_of_their_own(tmp_path):
    for folder, width in (("a", 3), ("b", 5)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "widths.py").write_text(f"WIDTH = {width}")
        (tmp_path / folder / "net.py").write_text(
            "import torch\n"
            "def model():\n"
            "    import widths\n"
            "    return torch.nn.Linear(4, widths.WIDTH), torch.rand(1, 4)\n"
        )
    paths = (str(tmp_path / folder / "net.py") for folder in "ab")
    assert [find_source(path).load(0).module.out_features for path in paths] == [3, 5]


def test_a_tensor_of_samples_is_calibration_too(write):
    text = "def model(): return network(), torch.rand(1, 4), torch.rand(5, 1, 4)"
    model = find_source(str(write(text))).load(0)
    assert [sample[0].shape for sample in model.calibration] == [(1, 4)] * 5


@pytest.mark.parametrize(
    ("made", "hint"),
    [
        ("type(network())", "return an instance of it: "),
        ("network().state_dict()", "load it into the module"),
        ("torch.relu", "call it in the forward() of a torch.nn.Module"),
    ],
)
def test_what_is_no_module_says_what_to_return(write, made, hint):
    source = find_source(str(write(f"def model(): return {made}, torch.rand(1, 4)")))
    with pytest.raises(InvalidRequest, match=r"did not return a torch\.nn\.Module") as caught:
        source.load(0)
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def model(): return network()", "did not return example inputs"),
        ("def model(): return 3, torch.rand(1, 4)", "did not return a torch.nn.Module"),
        ("def model(): return network(), torch.rand(1, 4), [], [3]", "returned a tuple of 4"),
        ("def model(): return network(), [1.5]", "an input is a float, not a tensor"),
        (
            "def model(): return network(), torch.ones(1, device='meta')",
            "an input is on the meta device and has no values",
        ),
        ("def model(): return network(), {'x': torch.ones(1)}", "an input is a dict, not a tensor"),
        (
            "one = torch.ones(1, 4)\n"
            "class model: module, example_inputs, samples = network(), one, [one[0]]",
            "sample 1 has another shape than the example",
        ),
        (
            "class model: module, example_inputs, labels = network(), torch.rand(1, 4), [1, 2]",
            "the number of labels is not the number of samples",
        ),
        ("def other(): pass", "net.py does not define model; it defines "),
        ("def model(): return missing", "net.py:8: NameError: name 'missing' is not defined"),
        ("import no_such_package", "net.py:8: ModuleNotFoundError: No module named"),
        ("def model(: pass", "net.py:8: SyntaxError"),
        ("raise SystemExit(5)", "net.py:8: SystemExit: 5"),
    ],
)
def test_a_bad_file_is_one_clear_line(write, text, message):
    with pytest.raises(InvalidRequest) as caught:
        find_source(str(write("\n" + text))).load(0)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def other(): pass", "net.py does not define model; it defines network, other"),
        ("def other(size): pass", "net.py does not define model"),
        ("def model(: pass", "net.py:8: SyntaxError"),
        ("def model(): pass", None),
        ("if True:\n    model = 1", None),
        ("from os import path as model", None),
        ("from os import *", None),
        ("globals()['model'] = 1", None),
        ("for model in (1, 2): pass", None),
    ],
)
def test_what_is_wrong_is_found_without_running_the_file(write, text, message):
    source = find_source(str(write("\n" + text)))
    if message is None:
        source.check()
        return
    with pytest.raises(InvalidRequest) as caught:
        source.check()
    assert message in caught.value.message


def archive(path, module=None, inputs=None, **options):
    module, inputs = module or torch.nn.Linear(4, 3), inputs or (torch.rand(2, 4),)
    program = torch.export.export(module, inputs, **options)
    torch.export.save(program, path)
    return path


def test_an_archive_brings_module_and_inputs(tmp_path):
    path = archive(tmp_path / "net.pt2")
    source = find_source(str(path))
    model = source.load(0)
    assert source == ExportedArchive(path)
    assert source.files == (path,)
    assert model.module(*model.example_inputs).shape == (2, 3)
    assert len(model.samples) == 8


def test_dynamic_sizes_of_an_archive_become_static(tmp_path):
    batch = torch.export.Dim("batch", max=16)
    path = archive(tmp_path / "net.pt2", dynamic_shapes=({0: batch},))
    model = find_source(str(path)).load(0)
    program = torch.export.export(model.module, model.example_inputs)
    assert tuple(program.graph_signature.user_outputs)
    assert program.range_constraints == {}
    size = model.example_inputs[0].shape[0]
    (note,) = model.notes
    assert note.endswith(f" had dynamic sizes, now those of the example: dimension 0 is {size}")


class ByName(torch.nn.Module):
    def forward(self, x, *, scale):
        return x * scale


def test_arguments_by_name_are_refused(tmp_path):
    inputs = (torch.rand(1),)
    path = archive(tmp_path / "net.pt2", ByName(), inputs, kwargs={"scale": torch.rand(1)})
    with pytest.raises(Unsupported, match="takes arguments by name: scale"):
        find_source(str(path)).load(0)


def test_a_damaged_archive_is_one_clear_line(tmp_path):
    path = archive(tmp_path / "net.pt2")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InvalidRequest, match=r"is not a torch\.export archive") as caught:
        find_source(str(path)).load(0)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("mv3", "unknown model mv3", "did you mean mv2?"),
        ("nothing-like-it", "unknown model nothing-like-it", "known: deep_autoencoder, digits,"),
        ("missing.py:model", "no such file: missing.py", None),
        ("missing.pt2", "no such file: missing.pt2", None),
        (
            "model.pte",
            "model.pte cannot be exported: it is not a module",
            "give a model of the zoo",
        ),
        (
            "model.pth",
            "model.pth cannot be exported: it is not a module",
            "give a model of the zoo",
        ),
    ],
)
def test_an_unknown_model_gets_a_hint(text, message, hint):
    with pytest.raises(InvalidRequest) as caught:
        find_source(text)
    assert caught.value.message == message
    assert (caught.value.hint or "").startswith(hint or "")


def test_a_python_file_is_found_by_its_suffix(write):
    path = write("def make(): pass")
    assert find_source(f"{path}:make") == PythonFile(path, "make")
