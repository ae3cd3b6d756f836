"""ExecuTorch's Cortex-M backend: the only module that touches it. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import torch
from executorch.backends.arm._passes import FoldAndAnnotateQParamsPass
from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.backends.arm.quantizer.arm_quantizer_utils import PatternQuantizer
from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
from executorch.backends.cortex_m.library.cmsis_nn import Backend
from executorch.backends.cortex_m.passes.aten_to_cortex_m_pass import AtenToCortexMPass
from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from executorch.backends.cortex_m.passes.passes_utils import get_activation_bounds, quantize_val
from executorch.backends.cortex_m.quantizer.node_finders import NodeTargetNodeFinder
from executorch.backends.cortex_m.quantizer.pattern_matcher import PatternMatcher
from executorch.backends.cortex_m.quantizer.quantization_configs import INT8_PER_TENSOR_CONFIG
from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
from executorch.backends.cortex_m.target_config import CortexMTargetConfig
from executorch.exir import EdgeCompileConfig
from executorch.exir.pass_base import ExportPass
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import Node

from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.target import Target


class LayoutMode(Enum):
    """How the backend comes by the NHWC that its convolutions need.

    CHANNELS_LAST takes it from the strides of the tensors. Convolutions stay in float where an
    operator between them makes memory contiguous, and in one dimension. EXPLICIT, which ExecuTorch
    calls experimental, transposes, and refuses programs in which a float tensor would have to be.
    """

    CHANNELS_LAST = "channels-last"
    EXPLICIT = "explicit"

    @property
    def is_explicit(self) -> bool:
        return self is LayoutMode.EXPLICIT

    def arrange(self, tensor: Tensor) -> Tensor:
        """A copy of an input with the memory that a program of this layout takes."""
        is_last = tensor.ndim == 4 and not self.is_explicit
        layout = torch.channels_last if is_last else torch.contiguous_format
        # One channel is contiguous either way and contiguous() would keep its strides, but the
        # exported dim order is made from them.
        return torch.empty(tensor.shape, dtype=tensor.dtype, memory_format=layout).copy_(tensor)


class Quantizer(CortexMQuantizer):  # type: ignore[misc]
    """The Cortex-M quantizer: int8 activations, convolution weights per channel.

    It also quantises operators of the user's own that are registered as `quantized_op`.
    """

    def __init__(self, layout: LayoutMode) -> None:
        super().__init__(use_explicit_layout=layout.is_explicit)
        if QUANTIZED:
            matcher = PatternMatcher({(operator,): None for operator in QUANTIZED})
            finder = NodeTargetNodeFinder(list(QUANTIZED))
            self.quantizers.insert(0, PatternQuantizer(INT8_PER_TENSOR_CONFIG, finder, matcher))

    def rejections(self) -> dict[str, str]:
        """Why nodes were not quantised: reason by node name, known once it has annotated."""
        reasons: dict[str, str] = {}
        for quantizer in self.quantizers:
            report = quantizer.reporter.quantizers[quantizer]
            for rejected in report.rejected_patterns:
                # Said of the shorter patterns inside of an accepted one too: no loss.
                if rejected.rejection_reason != PatternMatcher.REJECT_PREVIOUSLY_ANNOTATED:
                    reasons.update(dict.fromkeys(rejected.node_names, rejected.rejection_reason))
        return reasons


def edge_compile_config() -> EdgeCompileConfig:
    """Keeps the operators that the backend's passes look for; the default config loses them."""
    return cortex_m_edge_compile_config()


def to_cortex_m(
    program: ExportedProgram,
    layout: LayoutMode,
    target: Target,
    after_folding: Sequence[type[ExportPass]] = (),
    before_replacement: Sequence[type[ExportPass]] = (),
) -> ExportedProgram:
    """A quantised program in the edge dialect with its operators replaced by `cortex_m::` ones.

    Args:
        after_folding: passes to run once quantize and dequantize are folded into other nodes.
        before_replacement: passes to run just before operators are replaced.
    """
    manager = CortexMPassManager
    explicit = layout.is_explicit
    passes = list(manager.explicit_layout_pass_list if explicit else manager.legacy_pass_list)
    folded = passes.index(FoldAndAnnotateQParamsPass) + 1
    passes[folded:folded] = after_folding
    replacement = passes.index(AtenToCortexMPass)
    passes[replacement:replacement] = before_replacement
    lowered: ExportedProgram = manager(
        program, passes, target_config(target), use_explicit_layout=explicit
    ).transform()
    return lowered


def quantized_bounds(activation: Node, output: QuantArgs) -> tuple[int, int] | None:
    """The least and the largest int8 that an activation lets through; None if it is not known."""
    bounds = get_activation_bounds(activation)
    if bounds is None:
        return None
    scale, zero_point, *limits = output.scale, output.zp, output.qmin, output.qmax
    least, largest = (
        limit if bound is None else int(quantize_val(bound, scale, zero_point, *limits))
        for bound, limit in zip(bounds, limits, strict=True)
    )
    return least, largest


def target_config(target: Target) -> CortexMTargetConfig:
    """A target in the backend's own terms."""
    upstream = CortexMTargetConfig.from_target_string(target.exported_as)
    return CortexMTargetConfig(upstream.cpu, getattr(Backend, target.isa.name))


def tester_stage() -> Any:
    """The stage of its tests' CortexMTester that runs programs, a class."""
    # Its tests import several more backends, which takes seconds.
    from executorch.backends.cortex_m.test.tester import CortexMSerialize

    return CortexMSerialize
