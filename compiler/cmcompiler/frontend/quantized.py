"""A quantised program and the operators left in float."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.parts import ModelParts

if TYPE_CHECKING:
    from torch import Tensor
    from torch.export import ExportedProgram
    from torch.fx import GraphModule


@dataclass(frozen=True, slots=True)
class FloatOperator:
    """An operator that the quantizer left in float.

    Attributes:
        node: its name in the exported graph.
        operator: `aten.conv1d.default`.
        reason: from the quantizer, if it states one.
    """

    node: str
    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Cost of quantising one operator alone.

    Attributes:
        node: its name in the exported graph.
        snr_db: of the model's outputs, with this operator's operands and result in int8.
    """

    node: str
    snr_db: float


EXACT = 150.0
"""In dB: more than single precision has."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """A step beyond the quantizer's own settings, taken as it raises the SNR.

    Attributes:
        snr_db: at the model's outputs, on calibration samples.
        before_db: without this step.
    """

    name: str
    before_db: float
    snr_db: float

    @classmethod
    def of(cls, name: str, before_db: float, snr_db: float) -> Refinement:
        """The step with an SNR of numbers in single precision where nothing is lost at all."""
        return cls(name, max(-EXACT, before_db), min(snr_db, EXACT))


@dataclass(frozen=True, eq=False, slots=True)
class FloatGraph:
    """A model in float with the ranges of its program.

    Attributes:
        graph: takes inputs and states, returns outputs and, if there are states, their new values.
        states: their initial values.
        rewritten: the same before anything was observed or refined; None where that is not the
            user's module, as after training.
    """

    graph: GraphModule
    states: tuple[Tensor, ...]
    rewritten: GraphModule | None


@dataclass(frozen=True, slots=True)
class Quantized:
    """A quantised program in the ATen dialect.

    Attributes:
        input_names: parameter names of the module's forward().
        output_names: keys and fields of what forward() returns, "" for outputs without a name.
        holds_classes: whether the only output has one number a class.
        is_sequence: whether the module carries state from one call to the next.
        layers: the most sensitive first; empty if not asked for.
        call_sites: of the nodes of the exported graph, by name.
        refinements: in the order in which they were made.
        real: the graph that was quantised.
        parts: that may differ in precision; None if not asked for.
    """

    program: ExportedProgram
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    call_sites: Mapping[str, CallSite]
    float_operators: tuple[FloatOperator, ...]
    real: FloatGraph
    holds_classes: bool = False
    is_sequence: bool = False
    layers: tuple[OperatorCost, ...] = ()
    refinements: tuple[Refinement, ...] = ()
    parts: ModelParts | None = None
