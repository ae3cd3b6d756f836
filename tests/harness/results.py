"""A realistic run result, to render and to vary."""

from __future__ import annotations

from pathlib import Path

from cmbuild.accuracy import Accuracy, Fidelity, FloatUse
from cmbuild.results import (
    Cycles,
    FlashUse,
    Instructions,
    MemoryUse,
    OpCount,
    OpCycles,
    OutputResult,
    PortResult,
    RamUse,
    RunResult,
    Score,
    Verification,
    WeightsResult,
)

MV2 = RunResult(
    model="mv2",
    board="corstone300",
    target="cortex-m55",
    isa="mve",
    executor="static",
    launcher="qemu",
    machine="QEMU mps3-an547",
    verification=Verification("exact", samples=2, failed=0, mismatches=0),
    weights=WeightsResult("random", "pretrained weights could not be downloaded: no network"),
    inputs=(PortResult("x", "float32", (1, 3, 224, 224), "channels-last", 0.01862, -3),),
    outputs=(
        OutputResult("y", "float32", (1, 1000), "contiguous", None, None, Path("y/output_0.npy")),
    ),
    best=(Score(359, "359", 0.494), Score(904, "904", 0.367), Score(21, "21", 0.332)),
    accuracy=Accuracy(metric="top-1", float=0.985, reference=0.98, device=0.98, samples=200),
    fidelity=Fidelity(snr_db=41.23, agreement=0.99, samples=200),
    warnings=(),
    lacking=(),
    float=FloatUse(share=0.0, estimated=False, operators=()),
    has_fpu=True,
    instructions=Instructions(
        141_234_567,
        "simulated count",
        (
            OpCount("conv2d 1×1", "…conv2d.out #3", "conv2d_s8", 88_100_000, 270_000_000),
            OpCount("conv2d 1×1", "…conv2d.out #5", "conv2d_s8", 1_000, 3_000),
            OpCount("depthwise 3×3", "…dw.out #4", "depthwise_s8", 38_200_000, 20_000_000),
            OpCount("quantize", "…quantize_per_tensor.out #0", "quantize", 420_000, 0),
        ),
    ),
    cycles=Cycles(
        total=86_801_234,
        error_percent=None,
        clock_hz=32_000_000,
        milliseconds=2712.5,
        provenance="model of the Cortex-M55, zero wait states",
        per_op=(OpCycles("conv2d 1×1", "…conv2d.out #3", "conv2d_s8", 60_000_000),),
    ),
    uncounted=None,
    macs=300_774_272,
    memory=MemoryUse(
        FlashUse(weights=3_659_104, code=28_570, capacity=8 << 20),
        RamUse(arena=1_509_744, static=612, stack=1_944, capacity=4 << 20),
    ),
    folder=Path("build/mv2/corstone300"),
    artifacts={"image": Path("build/mv2/corstone300/runner/runner.elf")},
)
