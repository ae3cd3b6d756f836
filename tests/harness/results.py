"""A realistic run result, to render and to vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from cmbuild.accuracy import (
    Accuracy,
    Faithfulness,
    Fidelity,
    FloatUse,
    LayerFidelity,
    OutputFidelity,
)
from cmbuild.boards.memory import PartUse, RegionUse
from cmbuild.cycles.results import Cycles, OpCycles
from cmbuild.pipeline.layers import PlacedLayer
from cmbuild.pipeline.results import RunResult
from cmbuild.results import (
    ArenaPeak,
    ArenaResult,
    ArenaStep,
    FlashUse,
    Instructions,
    MemoryUse,
    OpCount,
    OutputResult,
    PortResult,
    RamUse,
    Score,
    TensorUse,
    Verification,
    WeightsResult,
)
from cmcompiler.frontend.sample_origin import SampleOrigin


def placed_layer(name: str, title: str, **others: Any) -> PlacedLayer:
    unknown = dict.fromkeys(field.name for field in fields(PlacedLayer))
    same = {"name": name, "title": title, "source": "…conv2d.out #3", "kernel": "conv2d_s8"}
    usual = {"arithmetic": "integer", "macs": 0, "whole_macs": 0, "weights": 1_280, "arena": 16_384}
    return PlacedLayer(**unknown | same | usual | others)


def fidelity(*snrs: float, names: Sequence[str] = ("y", "z", "w"), **others: Any) -> Fidelity:
    """Of outputs with so many dB; the first is that of all."""
    usual = {"agreement": None, "samples": 8, "detail": "", "sequence": None}
    outputs = (
        OutputFidelity(name=name, snr_db=snr, worst_error=0.031, largest=3.4)
        for name, snr in zip(names, snrs, strict=False)
    )
    return Fidelity(
        snr_db=snrs[0],
        outputs=tuple(outputs),
        **usual | {"inputs": SampleOrigin.SAMPLES} | others,
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
    inputs=(
        PortResult("x", "float32", (1, 3, 224, 224), "channels-last", 0.01862, -3, "int8", "whole"),
    ),
    outputs=(
        OutputResult(
            "y",
            "float32",
            (1, 1000),
            "contiguous",
            None,
            None,
            None,
            "whole",
            Path("y/output_0.npy"),
        ),
    ),
    best=(Score(359, "359", 0.494), Score(904, "904", 0.367), Score(21, "21", 0.332)),
    accuracy=Accuracy(metric="top-1", float=0.985, reference=0.98, device=0.98, samples=200),
    fidelity=fidelity(41.23, agreement=0.99, samples=200),
    faithfulness=Faithfulness(
        faithful=True,
        layers=(
            LayerFidelity(
                name="conv2d (features.0)",
                file="net.py",
                line=7,
                error_steps=0.502,
                bound_steps=0.56,
                snr_db=44.1,
                clipped=0.0,
            ),
        ),
    ),
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
    whole_macs=300_774_272,
    layers=(
        placed_layer("quantize", "quantize", arithmetic="boundary", instructions=420_000),
        placed_layer("features.0.0", "conv2d 1×1", stream=0, macs=270_000_000, cycles=60_000_000),
        placed_layer("</data>", "conv2d 1×1", fallback="gemm_s8 has no mve version; dsp is used"),
    ),
    memory=MemoryUse(
        FlashUse(weights=3_659_104, code=28_570, capacity=8 << 20),
        RamUse(arena=1_509_744, static=612, reserved=16_384, stack=1_944, capacity=4 << 20),
        ArenaResult(
            least=204_352,
            lower_bound=1_509_680,
            peak=ArenaPeak(
                step=2,
                title="conv2d 1×1",
                source="…conv2d.out #5",
                bytes=1_509_680,
                tensors=(
                    TensorUse(name="t3", bytes=1_204_224),
                    TensorUse(name="t4", bytes=301_056),
                ),
            ),
            timeline=(
                ArenaStep(title="quantize", tensors=752_640, rings=0, scratch=0),
                ArenaStep(title="conv2d 1×1", tensors=551_936, rings=16_384, scratch=4_400),
                ArenaStep(title="conv2d 1×1", tensors=1_505_280, rings=0, scratch=4_400),
            ),
        ),
        (
            RegionUse(
                name="sram",
                kind="ram",
                origin=0x31000000,
                size=4 << 20,
                parts=(PartUse(name="arena", bytes=1_509_744),),
            ),
        ),
    ),
    folder=Path("build/mv2/corstone300"),
    artifacts={"image": Path("build/mv2/corstone300/runner/runner.elf")},
)
