"""ExecuTorch's Cortex-M backend, which no other module uses. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter, getitem
from typing import Any

import torch
from executorch.backends.arm._passes import FoldAndAnnotateQParamsPass
from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.backends.arm.common.annotation_meta import ArmAnnotationInfo
from executorch.backends.arm.quantizer.arm_quantizer_utils import (
    PatternQuantizer,
    SharedQspecQuantizer,
    _mark_node_as_quantized,
)
from executorch.backends.arm.quantizer.quantization_config import QuantizationConfig
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
from executorch.backends.transforms.utils import delete_constant_placeholder
from executorch.exir import EdgeCompileConfig
from executorch.exir.pass_base import ExportPass
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationSpec,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from cmcompiler.frontend.chosen_precision import SHORT_MOVE, mark_short_moves
from cmcompiler.frontend.intermediates import Note, ignore
from cmcompiler.frontend.narrow_constants import mark_narrow
from cmcompiler.frontend.narrow_weights import narrow_weights
from cmcompiler.frontend.operators.grid import is_grid
from cmcompiler.frontend.own_ranges import compare_as_read, is_read_in_float, is_real
from cmcompiler.frontend.precision import Patterns
from cmcompiler.frontend.quantized_op import QUANTIZED, Fixed, SameAs
from cmcompiler.frontend.rewrites.constants import number_of
from cmcompiler.frontend.rewrites.masks import CHOICES, FILLS
from cmcompiler.frontend.rewrites.two_valued import VALUES, is_sentinel
from cmcompiler.frontend.sharing import appoint_leaders, keep_fixed_ranges
from cmcompiler.frontend.short_observer import ShortObserver, largest_result
from cmcompiler.target import Target

_aten = torch.ops.aten
_MIRRORS = [
    _aten.reflection_pad1d.default,
    _aten.reflection_pad2d.default,
    _aten.replication_pad1d.default,
    _aten.replication_pad2d.default,
]
_MOVEMENTS = [
    *_MIRRORS,
    _aten.upsample_nearest2d.vec,
    _aten.embedding.default,
    *(_aten.topk.default, _aten.sort.default, _aten.sort.stable),
    *(_aten.argsort.default, _aten.argsort.stable),
    _aten.scatter.src,
]
"""Operators that only move elements, which the backend does not name."""

activation_bounds = get_activation_bounds
"""The numbers between which an activation keeps its result; None where it has no end."""

_VIEWS = {
    *(_aten.view.default, _aten.reshape.default, _aten.unsqueeze.default, _aten.expand.default),
    *(_aten.squeeze.dim, _aten.permute.default, _aten.transpose.int),
}

INT16_MAX = 32767


class Quantizer(CortexMQuantizer):  # type: ignore[misc]
    """The Cortex-M quantizer: int8 activations, convolution weights per channel.

    It also quantises operators registered with `quantized_op`.

    Args:
        is_portable: only those that become operators of ExecuTorch's runtime.
        precision: of modules.
    """

    def __init__(self, is_portable: bool = False, precision: Patterns = ()) -> None:
        super().__init__()
        self._precision = precision
        own = [op for op, how in QUANTIZED.items() if how.is_portable or not is_portable]
        matcher = PatternMatcher({(operator,): None for operator in own})
        finder = NodeTargetNodeFinder(own)
        self.quantizers.insert(0, RegisteredQuantizer(INT8_PER_TENSOR_CONFIG, finder, matcher))
        shared = [*SharedQspecQuantizer.SHARED_QSPEC_OPS_DEFAULT, *_MOVEMENTS]
        self.quantizers[-1] = MovementQuantizer(shared)
        self.quantizers[-1].precision = precision

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        transformed: GraphModule = super().transform_for_annotation(model)
        mark_narrow(transformed, self._precision)
        return transformed

    def annotate(self, model: GraphModule) -> GraphModule:
        annotated: GraphModule = super().annotate(model)
        further = [node for node in annotated.graph.nodes if _is_further_result(node)]
        for node in further:
            if Q_ANNOTATION_KEY not in node.meta:
                sources = node.all_input_nodes
                spec = sources[0].meta[Q_ANNOTATION_KEY].output_qspec
                _mark_node_as_quantized(node, dict.fromkeys(sources, spec), spec, True)
        for node in annotated.graph.nodes:
            annotation = node.meta.get(Q_ANNOTATION_KEY)
            is_input = node.op == "placeholder" and annotation is not None
            if is_input and (_is_state(node) or _is_float_mask(node) or is_grid(node)):
                annotation.output_qspec = None
            if node.op == "placeholder" and annotation is not None:
                _quantize_as_added(node)
            is_number = is_input and is_real(node) and not _is_state(node)
            if is_number and (
                _is_short(node.users, attrgetter("users"))
                or is_read_in_float(node, self._precision)
            ):
                annotation.output_qspec = _int16(None)
                compare_as_read(node)
            if node.op == "output" and annotation is not None:
                for result in filter(_is_short_result, node.all_input_nodes):
                    annotation.input_qspec_map.pop(result, None)
                for result in node.all_input_nodes:
                    if _holds_sentinels(result) or _comes_from(result, further):
                        annotation.input_qspec_map.pop(result, None)
        narrow_weights(annotated.graph, self._precision)
        appoint_leaders(annotated.graph)
        keep_fixed_ranges(annotated.graph)
        return annotated

    def rejections(self) -> dict[str, str]:
        """Why nodes were not quantised, by node name; available after annotation."""
        reasons: dict[str, str] = {}
        for quantizer in self.quantizers:
            report = quantizer.reporter.quantizers[quantizer]
            for rejected in report.rejected_patterns:
                # Also reported for the shorter patterns inside an accepted one: nothing is lost.
                if rejected.rejection_reason != PatternMatcher.REJECT_PREVIOUSLY_ANNOTATED:
                    reasons.update(dict.fromkeys(rejected.node_names, rejected.rejection_reason))
        return reasons


class MovementQuantizer(SharedQspecQuantizer):  # type: ignore[misc]
    """Lets operators that move elements share a range, unless they add some up."""

    precision: Patterns = ()

    def annotate(self, model: GraphModule) -> None:
        for node in model.graph.nodes:
            if node.target in self.targets and not self._is_annotated(node):
                if _accumulates(node):
                    self.report_reject([node], "it adds elements up")
                else:
                    self._annotate_shared_cluster(node)

    def _get_shared_clique(self, root_node: Node) -> tuple[set[Node], list[Any], bool, bool]:
        """Nodes that floats connect: the condition of a choice has no part in its range.

        The first neighbour's range is shared: one of int16 precedes those of int8.
        """
        shared, specs, left = {root_node: None}, list[Any](), [root_node]
        touches = [False, False]
        for node in left:
            for source in filter(is_real, node.all_input_nodes):
                self._maybe_enqueue_shared_node(source, set(shared), left)
                self._append_output_qspec(source, specs)
            for user in node.users if is_real(node) else ():
                self._maybe_enqueue_shared_node(user, set(shared), left)
                self._append_input_qspec(user, node, specs)
            shared.update(dict.fromkeys(left))
            for other in (*node.all_input_nodes, *node.users):
                touches[0] |= self._is_quantized_io_boundary(other)
                touches[1] |= self._is_uint8_quantized_io_boundary(other)
        specs.sort(key=lambda spec: getattr(spec, "dtype", None) is not torch.int16)
        if mark_short_moves(shared, self.precision, is_real):
            specs = [_int16(None)]
        return set(shared), specs, touches[0], touches[1]

    def _maybe_enqueue_shared_node(
        self, neighbor: Node, shared_nodes: set[Node], bfs_queue: list[Node]
    ) -> None:
        if not _accumulates(neighbor):
            super()._maybe_enqueue_shared_node(neighbor, shared_nodes, bfs_queue)


def _accumulates(node: Node) -> bool:
    puts = {_aten.index_put.default, _aten.index_put_.default}
    return node.target in puts and len(node.args) > 3 and bool(node.args[3])


class RegisteredQuantizer(PatternQuantizer):  # type: ignore[misc]
    """Annotates operators registered with `quantized_op`."""

    def annotate_match(self, match: list[Node], config: QuantizationConfig) -> None:
        super().annotate_match(match, config)
        for node in match:
            assert isinstance(node.target, OpOverload)
            registered, annotation = QUANTIZED[node.target], node.meta[Q_ANNOTATION_KEY]
            for position in registered.constants & set(range(len(node.args))):
                annotation.input_qspec_map.pop(node.args[position], None)
            if registered.is_short:
                for source in annotation.input_qspec_map:
                    annotation.input_qspec_map[source] = _int16(None)
                annotation.output_qspec = _int16(None, largest_result(node))
            for position, scale in registered.states.items():
                if node.args[position] is not None:
                    annotation.input_qspec_map[node.args[position]] = _int16(scale)
            match registered.output:
                case SameAs(position):
                    annotation.output_qspec = SharedQuantizationSpec((node.args[position], node))
                case Fixed(scale, _) if registered.is_short:
                    annotation.output_qspec = _int16(scale)
                case Fixed(scale, zero_point):
                    annotation.output_qspec = FixedQParamsQuantizationSpec(
                        torch.int8, scale, zero_point, -128, 127, torch.per_tensor_affine
                    )
            if isinstance(node.meta["val"], tuple):
                spec = annotation.output_qspec or config.get_output_act_qspec(node)
                annotation.output_qspec = None
                for result in node.users:
                    own = _state(registered.final, node) if result.args[1] else spec
                    _mark_node_as_quantized(result, {}, own, True)


def mark_as_quantized(node: Node) -> None:
    """Makes a node, inserted between observers after annotation, one that is quantised."""
    _mark_node_as_quantized(node, {}, None, True)


def mark_as_float(node: Node) -> None:
    """Takes back the annotation of a node: it computes what it reads as floats."""
    node.meta.pop(Q_ANNOTATION_KEY, None)
    custom = node.meta.get("custom", {})
    node.meta["custom"] = {
        key: value for key, value in custom.items() if key != ArmAnnotationInfo.CUSTOM_META_KEY
    }


def is_quantized(node: Node) -> bool:
    annotation = node.meta.get(Q_ANNOTATION_KEY)
    return annotation is not None and bool(annotation._annotated)


def _state(final: float | SameAs | None, node: Node) -> Any:
    """The quantisation of a further result of a node."""
    if isinstance(final, SameAs):
        return SharedQuantizationSpec((node.args[final.position], node))
    return _int16(final)


def _int16(scale: float | None, most: float | None = None) -> QuantizationSpec:
    """With this scale and zero point 0, or with an observed one.

    Args:
        most: the largest magnitude of the tensor, if that is known.
    """
    if scale is None:
        observer = ShortObserver.with_args(eps=2.0**-24, most=most)
        form = {"quant_min": -INT16_MAX, "quant_max": INT16_MAX}
        return QuantizationSpec(torch.int16, observer, **form, qscheme=torch.per_tensor_symmetric)
    return FixedQParamsQuantizationSpec(
        torch.int16, scale, 0, -INT16_MAX - 1, INT16_MAX, torch.per_tensor_affine
    )


def _is_state(node: Node) -> bool:
    """Whether a node is only used as int16 arguments."""
    return bool(node.users) and all(
        user.target in QUANTIZED
        and all(
            position in QUANTIZED[user.target].states
            for position, argument in enumerate(user.args)
            if argument is node
        )
        for user in node.users
    )


def _is_short_result(node: Node) -> bool:
    """Whether a result is int16, maybe after it is moved."""
    return _is_short([node], attrgetter("all_input_nodes"))


def _is_short(nodes: Iterable[Node], ahead: Callable[[Node], Iterable[Node]]) -> bool:
    """Whether an operator of int16 is among nodes, or ahead of those that move elements."""
    walked, left = set[Node](), list(nodes)
    while left:
        node = left.pop()
        registered = QUANTIZED.get(node.target)  # type: ignore[call-overload]
        if SHORT_MOVE in node.meta or (registered is not None and registered.is_short):
            return True
        if registered is None and is_moved(node) and node not in walked:
            walked.add(node)
            left += ahead(node)
    return False


def is_moved(node: Node) -> bool:
    """Whether a node shares a range with what it reads."""
    return node.target in {*SharedQspecQuantizer.SHARED_QSPEC_OPS_DEFAULT, *_MOVEMENTS}


def _holds_sentinels(node: Node) -> bool:
    """Whether a node that is left in float fills or chooses sentinels."""
    is_choice = node.target in FILLS | CHOICES and Q_ANNOTATION_KEY not in node.meta
    return is_choice and any(map(is_sentinel, map(number_of, node.args)))


def _quantize_as_added(node: Node) -> None:
    """Gives an input that is only moved to where it is added in 16 bits no range of its own."""
    moved, scales = [node], set()
    for source in moved:
        for user in source.users:
            target: Any = user.target
            registered = QUANTIZED.get(target)
            if registered is None and user.target in _VIEWS:
                moved.append(user)
            elif registered is None or registered.final is not None:
                return
            else:
                scales.add(registered.states.get(user.args.index(source)))
    if len(moved) > 1 and len(scales) == 1 and None not in scales:
        node.meta[Q_ANNOTATION_KEY].output_qspec = None
        (scale,) = scales
        for user in node.users:
            user.meta[Q_ANNOTATION_KEY].input_qspec_map[node] = _int16(scale)


def _is_float_mask(node: Node) -> bool:
    """Whether an input holds sentinels, for which there is no range, and only floats read it."""
    values = node.meta.get(VALUES, ())
    return any(map(is_sentinel, values)) and not any(
        node in user.meta[Q_ANNOTATION_KEY].input_qspec_map
        for user in node.users
        if Q_ANNOTATION_KEY in user.meta
    )


def _is_further_result(node: Node) -> bool:
    """Whether a node consists of results after the first of an operator."""
    if node.target is getitem:
        return bool(node.args[1]) and node.all_input_nodes[0].target in QUANTIZED
    is_float = Q_ANNOTATION_KEY not in node.meta and bool(node.all_input_nodes)
    return is_float and all(map(_is_further_result, node.all_input_nodes))


def _comes_from(node: Node, sources: Collection[Node]) -> bool:
    """Whether a node is one of these, maybe after it is moved."""
    moved = node.all_input_nodes if is_moved(node) else ()
    return node in sources or any(_comes_from(each, sources) for each in filter(is_real, moved))


def edge_compile_config() -> EdgeCompileConfig:
    """Keeps the operators that passes match or kernels compute; the default decomposes them."""
    config = cortex_m_edge_compile_config()
    return replace(config, preserve_ops=[*config.preserve_ops, *_MIRRORS])


def to_cortex_m(
    program: ExportedProgram,
    target: Target,
    *,
    folding: Sequence[type[ExportPass]] = (FoldAndAnnotateQParamsPass,),
    before_replacement: Sequence[type[ExportPass]] = (),
    after_replacement: Sequence[type[ExportPass]] = (),
    note: Note = ignore,
) -> ExportedProgram:
    """A quantised program in the edge dialect with its operators replaced by `cortex_m::` ones.

    Args:
        folding: passes that fold quantize and dequantize into other nodes, and those right after.
        before_replacement: passes to run right before the backend replaces its operators.
        after_replacement: passes to run once the backend has replaced its operators.
        note: sees the program after each pass.
    """
    manager = CortexMPassManager
    passes = list(manager.legacy_pass_list)
    folded = passes.index(FoldAndAnnotateQParamsPass)
    passes[folded : folded + 1] = folding
    replacement = passes.index(AtenToCortexMPass)
    passes[replacement:replacement] = before_replacement
    passes += after_replacement
    if note is not ignore:
        passes = [each for step in passes for each in (step, _watcher(step.__name__, note))]
    lowered: ExportedProgram = manager(program, passes, target_config(target)).transform()
    _drop_unused_constants(lowered)
    return lowered


def _watcher(name: str, note: Note) -> type[ExportPass]:
    """A pass that changes nothing, and shows the program after another one."""

    class Watcher(ExportPass):  # type: ignore[misc]
        def __init__(self, exported_program: ExportedProgram) -> None:
            super().__init__()
            self._program = exported_program

        def call(self, graph_module: GraphModule) -> PassResult:
            note(f"after-{name}", self._program)
            return PassResult(graph_module, False)

    return Watcher


def _drop_unused_constants(program: ExportedProgram) -> None:
    signature = program.graph_signature
    changing = set(signature.buffers_to_mutate.values())
    constants = {
        *signature.inputs_to_parameters,
        *signature.inputs_to_lifted_tensor_constants,
        *(name for name, held in signature.inputs_to_buffers.items() if held not in changing),
    }
    for node in list(program.graph.nodes):
        if node.op == "placeholder" and not node.users and node.name in constants:
            delete_constant_placeholder(program, node)
    program.graph_module.recompile()


def stored_number(number: float, output: QuantArgs) -> int:
    """The integer that stands for a number, the nearest one if it is outside of the range."""
    return int(quantize_val(number, output.scale, output.zp, output.qmin, output.qmax))


def target_config(target: Target) -> CortexMTargetConfig:
    """A target as the backend's config."""
    upstream = CortexMTargetConfig.from_target_string(target.exported_as)
    return CortexMTargetConfig(upstream.cpu, getattr(Backend, target.isa.name))


def tester_stage() -> Any:
    """The class of the CortexMTester stage that runs programs."""
    # Its tests import several more backends, which takes seconds.
    from executorch.backends.cortex_m.test.tester import CortexMSerialize

    return CortexMSerialize
