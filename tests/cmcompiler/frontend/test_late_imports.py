from __future__ import annotations

import subprocess
import sys

import pytest

_USE = """
import sys
from cmcompiler.frontend.late_imports import delay
delay()
import torch
from torch._inductor.fx_passes.post_grad import decompose_auto_functionalized as decompose
from torch.distributed.fsdp import FullyShardedDataParallel as Sharded

heavy = "torch._inductor.pattern_matcher"
decompose(torch.fx.Graph())
assert heavy not in sys.modules, "a graph without what it replaces needs nothing of it"
assert not isinstance(1, Sharded)
assert heavy in sys.modules, "all load at once: the passes need operators that others register"

class Own(Sharded):
    pass

import torch._inductor.fx_passes.post_grad as real
assert Own.__mro__[1].__name__ == Sharded.__name__ == "FullyShardedDataParallel"
assert real.decompose_auto_functionalized is not decompose
finders = list(sys.meta_path)
delay()
assert sys.meta_path == finders, "what is imported stays"
"""

_COMPILED = """
import os, sys
os.environ["CXX"] = "/no/such/compiler"
from cmcompiler.frontend.late_imports import delay
delay()
from cmcompiler.frontend.source import find_source
module = find_source(sys.argv[1]).load(0).module
import torch
assert module(torch.ones(1, 4)).shape == (1, 4)
"""

_FILE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    @torch.compile
    def twice(self, x):
        return torch.relu(x) * 2

    def forward(self, x):
        return self.twice(self.layer(x))

model = Net().eval(), torch.ones(1, 4)
"""


def test_late_modules_are_as_ever():
    subprocess.run([sys.executable, "-c", _USE], check=True, timeout=280)


@pytest.mark.long
def test_a_file_may_have_functions_that_torch_would_compile(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(_FILE)
    subprocess.run([sys.executable, "-c", _COMPILED, str(path)], check=True, timeout=280)
