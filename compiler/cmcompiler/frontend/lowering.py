"""Lowers a quantised program to a `.pte` file. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, to_edge
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule

from cmcompiler.frontend import backend
from cmcompiler.frontend.call_sites import instruction_nodes
from cmcompiler.frontend.intermediates import Note, ignore
from cmcompiler.frontend.lean_passes import lean_passes
from cmcompiler.frontend.passes.channel_linears import LowerChannelLinears
from cmcompiler.frontend.passes.clamp_fusion import FuseClamps
from cmcompiler.frontend.passes.hardsigmoid_fusion import FuseHardsigmoids
from cmcompiler.frontend.passes.places import FindPlacesInIntegers
from cmcompiler.frontend.passes.quantized_op_replacement import ReplaceQuantizedOps
from cmcompiler.frontend.passes.stored_numbers import CheckNumbers, StoreBounds, StoreFills
from cmcompiler.frontend.passes.stored_types import DropStoredTypes, FoldMixedTypes, TellStoredTypes
from cmcompiler.frontend.passes.thresholds import CompareIntegers
from cmcompiler.frontend.portability import lacking
from cmcompiler.frontend.quantized import Quantized
from cmcompiler.target import Target
from cmcompiler.usercode import unsupported


@dataclass(frozen=True, slots=True)
class Lowered:
    """An ExecuTorch program that computes with `cortex_m::` operators.

    Attributes:
        program: its bytes.
        lacking: operators that ExecuTorch's own runtime does not have.
        nodes: of the exported graph by the index of the instruction that they became.
    """

    program: bytes = field(repr=False)
    nodes: Mapping[int, str]
    lacking: tuple[str, ...]


def lower(quantized: Quantized, target: Target) -> bytes:
    """The bytes of an ExecuTorch program; raises as `lower_with_nodes`."""
    return lower_with_nodes(quantized, target).program


def lower_with_nodes(quantized: Quantized, target: Target, note: Note = ignore) -> Lowered:
    """
    Args:
        note: sees each stage.

    Raises:
        Unsupported: a model that ExecuTorch or its Cortex-M passes cannot take.
    """
    config = backend.edge_compile_config()
    with unsupported("ExecuTorch"), lean_passes():
        edge = to_edge(quantized.program, compile_config=config).exported_program()
    note("edge", edge)
    with unsupported("ExecuTorch's Cortex-M backend"), lean_passes():
        cortex_m = backend.to_cortex_m(
            edge,
            target,
            folding=(
                FoldMixedTypes,
                *(FuseClamps, FuseHardsigmoids, CompareIntegers, StoreFills),
                TellStoredTypes,
            ),
            before_replacement=(LowerChannelLinears, DropStoredTypes),
            after_replacement=(
                ReplaceQuantizedOps,
                FindPlacesInIntegers,
                StoreBounds,
                CheckNumbers,
            ),
            note=note,
        )
    with unsupported("ExecuTorch"):
        lowered = EdgeProgramManager(cortex_m, compile_config=config)
        emitted = lowered.to_executorch(_config(cortex_m))
        program = emitted.exported_program()
        note("executorch", program)
        return Lowered(bytes(emitted.buffer), instruction_nodes(program), _lacking(program))


def _lacking(program: ExportedProgram) -> tuple[str, ...]:
    graphs = [m.graph for m in program.graph_module.modules() if isinstance(m, GraphModule)]
    targets = [node.target for graph in graphs for node in graph.nodes]
    return lacking(target._schema.name for target in targets if isinstance(target, OpOverload))


def _config(program: ExportedProgram) -> ExecutorchBackendConfig:
    """The default, plus the contents of mutable buffers, which it omits."""
    held = dict(program.named_buffers())
    names = program.graph_signature.buffers_to_mutate.values()
    initialised = [name for name in names if held[name].any()]
    return ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(initialised)])
