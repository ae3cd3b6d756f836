"""From a graph to the kernel calls and memory layout of a device.

The planner and all operators are imported when they are asked for: reading a record needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cmcompiler.plan.abi import BRANCH, SLACK

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Argument, Base, Kept, Peak, Plan, Ref, Span, Step
    from cmcompiler.plan.planner import make_plan

__all__ = [
    "BRANCH",
    "SLACK",
    "Argument",
    "Base",
    "Kept",
    "Peak",
    "Plan",
    "Ref",
    "Span",
    "Step",
    "make_plan",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    home = "planner" if name == "make_plan" else "plan"
    return getattr(import_module(f"{__name__}.{home}"), name)
