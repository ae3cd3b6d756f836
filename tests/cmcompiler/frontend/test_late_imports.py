from __future__ import annotations

import subprocess
import sys

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


def test_late_modules_are_as_ever():
    subprocess.run([sys.executable, "-c", _USE], check=True, timeout=280)
