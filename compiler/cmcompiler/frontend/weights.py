"""Where the weights of a module come from. Importing it does not import torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from cmcompiler.arrays import check_unpacked
from cmcompiler.errors import InvalidRequest

if TYPE_CHECKING:
    import torch


_SHOWN = 8  # names of each kind in an error


class Origin(str, Enum):
    """How a module got its weights."""

    PRETRAINED = "pretrained"
    """Published ones."""
    RANDOM = "random"
    """Seeded random ones, if published ones are not available."""
    TRAINED = "trained"
    """Trained at export time, seeded."""
    FILE = "file"
    """A state dict that the user supplied."""
    GIVEN = "given"
    """Already in the user's module."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Provenance of a module's weights, for people.

    Attributes:
        detail: which file, how they were trained, or why they are random.
    """

    source: Origin
    detail: str


RANDOM = Path("random")
"""In place of a file: seeded random weights, though published ones are available."""


def is_random(path: Path | None) -> bool:
    """Whether a user asks for random weights, and means no file of that name."""
    return path == RANDOM and not RANDOM.is_file()


def load_state_dict(path: Path) -> dict[str, torch.Tensor]:
    """A file of `torch.save(module.state_dict(), path)`, or one with it under the key `state_dict`.

    Raises:
        InvalidRequest: unreadable, or not tensors by name.
    """
    import torch

    hint = "expected a file written by torch.save(module.state_dict(), …)"
    check_unpacked(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # unpickling untrusted bytes raises anything
        reason = str(error).strip().partition("\n")[0]
        raise InvalidRequest(f"{path} is not a state dict: {reason}", hint) from None
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    if not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in state.items()
    ):
        raise InvalidRequest(f"{path} does not map names to tensors", hint)
    return state


def assign(module: torch.nn.Module, path: Path) -> None:
    """Loads a state dict into a module.

    Raises:
        InvalidRequest: unreadable, or has missing, extra or mismatched tensors.
    """
    given, wanted = load_state_dict(path), module.state_dict()
    shapes = [
        f"{name} has shape {tuple(given[name].shape)}, not {tuple(wanted[name].shape)}"
        for name in wanted
        if name in given and given[name].shape != wanted[name].shape
    ]
    problems = (
        *_listed("missing", [name for name in wanted if name not in given]),
        *_listed("unexpected", [name for name in given if name not in wanted]),
        *_listed("mismatched", shapes),
    )
    if problems:
        message = f"{path} does not fit the model: {'; '.join(problems)}"
        raise InvalidRequest(message, _prefix_hint(given, wanted))
    module.load_state_dict(given)


def _listed(what: str, items: list[str]) -> list[str]:
    if not items:
        return []
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return [f"{len(items)} {what} ({', '.join(items[:_SHOWN])}{more})"]


def _prefix_hint(given: Iterable[str], wanted: Iterable[str]) -> str | None:
    """The usual reason, a module around the saved one, as that of DataParallel."""
    names = set(given)
    for prefix in {name.partition(".")[0] for name in names}:
        if {f"{prefix}.{name}" for name in wanted} <= names:
            return f"every key begins with {prefix}.: save the state dict of the module inside"
    return None


def randomize(module: torch.nn.Module, batch: torch.Tensor) -> None:
    """Gives an untrained module activations like a trained one's, from the current seed.

    Batch normalisations get random scales and offsets and the statistics of a batch, as after
    training: untouched ones let ranges explode or vanish. The output layer is centred, so that
    different inputs have different answers.

    Args:
        batch: inputs, (samples, …).
    """
    import torch
    from torch.nn.modules.batchnorm import _BatchNorm

    if batch.ndim == 4:
        # Halves the time of batch normalisation in training mode.
        batch = batch.contiguous(memory_format=torch.channels_last)
    module.eval()
    for norm in (part for part in module.modules() if isinstance(part, _BatchNorm)):
        torch.nn.init.uniform_(norm.weight, 0.75, 1.25)
        torch.nn.init.normal_(norm.bias, std=0.25)
        # No momentum: the statistics become those of the batch.
        norm.train().momentum = None
    last = [part for part in module.modules() if isinstance(part, torch.nn.Linear)][-1]
    with torch.no_grad():
        module(batch)
        module.eval()
        last.bias.sub_(module(batch).mean(0))
