"""Packages of graphs, made without a program, that share one runtime in a native test program."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from cmbuild import paths
from cmbuild.packaging.contents import PackagedModel, model_files
from cmbuild.packaging.runtime_sources import needed_sources
from cmcompiler.emit.folder import emit
from cmcompiler.emit.interface import PackageInterface
from cmcompiler.emit.vectors import VectorData
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import Array, evaluate_all
from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from harness.packages import WARNINGS, compile_in, run

SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def graph_package(
    graph: Graph, samples: Sequence[Sequence[Array]], name: str, folder: Path, feed: str = "rows"
) -> PackagedModel:
    """A package of a graph for this computer, with the samples and the reference's outputs.

    The reference runs the samples one after the other: those after the first one begin with the
    state that the one before left.
    """
    plan = make_plan(graph, Isa.SCALAR, PlanOptions(feed=feed))
    place = folder / f"{name}.plan"
    place.mkdir(parents=True)
    record = emit(plan, place, name=name)
    outputs = [evaluation.outputs for evaluation in evaluate_all(graph, samples)]
    vectors = VectorData(
        samples=len(samples),
        inputs=tuple(
            b"".join(each[i].transpose(port.dim_order).tobytes() for each in samples)
            for i, port in enumerate(plan.inputs)
        ),
        outputs=tuple(
            b"".join(each[i].transpose(port.dim_order).tobytes() for each in outputs)
            for i, port in enumerate(plan.outputs)
        ),
        labels=None,
    )
    return PackagedModel(PackageInterface.of(record), vectors, place)


def native_program(models: Sequence[PackagedModel], main: str, folder: Path) -> Path:
    """A program of this computer under sanitizers, of a C text and packages.

    Another one in the same folder, of the same packages, compiles only the text.
    """
    texts, files = [], []
    for model in models:
        for path, content in model_files(model).items():
            (folder / path).write_bytes(content)
            if path.endswith((".c", ".S")):
                files.append(folder / path)
            if path.endswith(".c"):
                texts.append(content.decode())
    (folder / "main.c").write_text(main)
    called = {step.kernel for model in models for step in model.record.steps if step.is_call}
    runtime = [
        file for file in needed_sources(called, Isa.SCALAR, None, texts) if file.suffix == ".c"
    ]
    include = f"-I{paths.runtime() / 'include'}"
    objects = []
    for file in chain(files, runtime, [folder / "main.c"]):
        objects.append(folder / f"{file.parent.name}_{file.name}.o")
        if file.name != "main.c" and objects[-1].exists():
            continue
        flags = ("-std=c11", *WARNINGS) if file.suffix == ".c" else ()
        compile_in(folder, ["gcc", *flags, *SANITIZED, include, "-I."], file, objects[-1])
    run("gcc", *SANITIZED, *objects, "-lm", "-o", folder / "program")
    return folder / "program"


def random_samples(graph: Graph, count: int, seed: int = 1) -> list[tuple[Array, ...]]:
    generator = np.random.default_rng(seed)
    return [
        tuple(
            generator.integers(-100, 100, port.shape).astype(port.tensor.dtype)
            for port in graph.inputs
        )
        for _ in range(count)
    ]
