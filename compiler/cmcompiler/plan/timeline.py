"""The arena's contents during each step."""

from __future__ import annotations

from collections.abc import Sequence

from cmcompiler.plan import arena
from cmcompiler.plan.arena import aligned
from cmcompiler.plan.draft import Draft
from cmcompiler.plan.plan import ArenaUse, Peak
from cmcompiler.plan.schedule import StreamStart
from cmcompiler.plan.streams.encoding import PROGRESS_BYTES


def timeline(draft: Draft) -> tuple[ArenaUse, ...]:
    """One entry a step: bytes in use, whatever the layout."""
    used = arena.Steps(arena.in_use(draft.blocks))
    rings, scratches = _rings(draft), _scratch(draft)
    uses = []
    for step, scratch in enumerate(scratches):
        total = used.at(step)
        # Rings may lie where an input's rows are spent, and count once.
        ring = min(rings[step], total - scratch)
        uses.append(ArenaUse(tensors=total - scratch - ring, rings=ring, scratch=scratch))
    return tuple(uses)


def peak(draft: Draft, uses: Sequence[ArenaUse]) -> Peak | None:
    """The first step with the most bytes in use; None without any step."""
    if not uses:
        return None
    step = max(range(len(uses)), key=lambda index: uses[index].total)
    return Peak(step, uses[step].total, draft.memory.alive(step), uses[step].scratch)


def _scratch(draft: Draft) -> list[int]:
    """Bytes of scratch during each step, that of a run during all of its calls."""
    sizes = [0] * len(draft.scratch)
    for step, pieces in enumerate(draft.scratch):
        for piece in pieces:
            for later in range(step, step + (0 if piece.kept else piece.steps)):
                sizes[later] += aligned(piece.size)
    return sizes


def _rings(draft: Draft) -> list[int]:
    """Bytes that a stream keeps from turn to turn, for each step: rings, progress and sums."""
    sizes = [0] * len(draft.scratch)
    for step, entry in enumerate(draft.schedule.entries):
        if isinstance(start := entry.action, StreamStart):
            size = sum(map(aligned, start.stream.ring_bytes.values()))
            size += aligned(PROGRESS_BYTES * start.count)
            stages = draft.scratch[step + 1 : step + 1 + start.count]
            size += sum(aligned(piece.size) for own in stages for piece in own if piece.kept)
            sizes[step : step + start.count + 1] = [size] * (start.count + 1)
    return sizes
