"""Flash, RAM and stack that a package takes of a device."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict


class StackUse(BaseModel):
    """The stack that a run of the same plan took.

    Attributes:
        bytes: the most at any time.
        machine: what it ran on: `QEMU mps3-an547`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    bytes: int
    machine: str


class Footprint(BaseModel):
    """Bytes that a package takes of a device.

    Attributes:
        code: instructions and tables, without the weights; None if not measured.
        compiled: how that was measured, or why it was not.
        static: variables besides arena and context; None if not measured.
        weights: packed constants.
        arena: activations and state.
        state: of the arena, what stays from run to run.
        stack: None if not known.
        feed: how inputs come: `whole` or `rows`.
        rows_arena: the arena with `--feed rows`; None if that is the feed, or not possible.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: int | None
    compiled: str
    static: int | None
    weights: int
    arena: int
    state: int
    stack: StackUse | None
    feed: str
    rows_arena: int | None

    def notes(self) -> Iterator[str]:
        """Paragraphs for the header."""
        code = "not measured" if self.code is None else f"{self.code} bytes"
        yield f"FLASH. Code: {code}, {self.compiled}. Weights: {self.weights} bytes."
        static = "not measured" if self.static is None else f"{self.static} bytes"
        yield (
            f"RAM. Arena: {self.arena} bytes, of which state: {self.state}. Static variables: "
            f"{static}. The context is the caller's."
        )
        if self.stack is None:
            yield (
                "STACK. Not known: no run of this plan was measured. `cmbuild run` with the same "
                "options, before `cmbuild package`, measures one."
            )
        else:
            yield (
                f"STACK. {self.stack.bytes} bytes at most, measured in a run of cmbuild's firmware "
                f"on {self.stack.machine}, its own calls included. Interrupts and other compilers "
                "take their own."
            )
