"""Stages of the pipeline from a model to a verified run: what a result is made from, and how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from cmbuild.cache.fingerprint import Value, fingerprint
from cmbuild.cache.store import Condition, Entry
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.events import WorkStep
from cmbuild.remote.sealing import EntryAddress


class StageKind(Enum):
    """The stages, in order; the value is the description in `doit list`."""

    EXPORT = "model → .pte with the Cortex-M quantizer and passes"
    PLAN = ".pte → kernel calls, packed weights, arena"
    TEXTS = "each stage of export and plan as text"
    LIBS = "runtime library for a CPU"
    CHECKOUT = "check that a checkout of ExecuTorch is complete"
    OPERATORS = "C++ that registers the kernels of a program with ExecuTorch's runtime"
    UPSTREAM = "ExecuTorch's libraries for a CPU, from a checkout"
    POOLS = "measure the memory that ExecuTorch's runtime allocates, in a dry run"
    HARNESS = "image with every kernel, which runs any program on a board"
    RUNNER = "firmware for a model on a board"
    FLOAT = "the float model's outputs for other samples than its export's"
    REFERENCE = "the expected outputs of the samples, computed on the host"
    PACKAGE = "C source, weights and test vectors of a model, for builds without Python"
    WORKSPACE = "west workspace with Zephyr"
    APP = "Zephyr application with a model, built by west"
    FLASH = "flash a runner onto a real board"
    SIMULATE = "run a runner and compare with the reference"
    TESTS = "ExecuTorch's own tests of its Cortex-M backend, on a board"

    def __init__(self, meaning: str) -> None:
        self.label = self.name.lower()


class Stage(ABC):
    """Makes one folder from others. Its methods, except `check`, are called after the stages
    before it are done.

    Attributes:
        name: unique among the stages of its kind.
        subject: what it works on, for people.
        after: the stages whose results it needs.
    """

    kind: ClassVar[StageKind]
    verb: ClassVar[str]
    """Past tense of the stage's work, for people: `linked`."""

    shared: ClassVar[bool] = False
    """Whether the result is shared, in the user's cache."""

    travels: ClassVar[bool] = False
    """Whether the result may come from another machine, through a remote cache."""

    name: str
    subject: str
    after: tuple[Stage, ...] = ()
    _is_readable = False

    @abstractmethod
    def parts(self) -> Mapping[str, Value]:
        """Everything that the result depends on."""

    @property
    @abstractmethod
    def entry(self) -> Entry:
        """The place of the result."""

    @abstractmethod
    def make(self, folder: Path) -> None:
        """Makes the result in an empty folder, which becomes the entry."""

    def inspect(self, folder: Path) -> None:  # noqa: B027  # most results stay where they are made
        """Reads a result, from wherever it came, as the stages after it do.

        Raises:
            Exception: any, if they could not use it.
        """

    def condition(self) -> Condition:
        """Whether the result can be used: up to date, unchanged since it was made, and readable."""
        condition = self.entry.condition(self.fingerprint)
        if condition is Condition.WHOLE and not self._is_readable:
            try:
                self.inspect(self.entry.folder)
            except Exception:  # content of others raises anything
                return Condition.USELESS
            self._is_readable = True
        return condition

    def check(self) -> None:  # noqa: B027  # most stages have nothing to check
        """Checks before any work what would fail late: a missing tool or file."""

    def summary(self) -> str:
        """One line about the result, once made."""
        return self.subject

    @property
    def result(self) -> object | None:
        """The result to show; None until it is made, or if there is only the folder."""
        return None

    def verdict(self) -> CmbuildError | None:
        """The error in a result that was made, if any."""
        return None

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of `parts`, taken once."""
        return fingerprint(kind=self.kind, **self.parts())

    @property
    def address(self) -> EntryAddress:
        """Address of the result in a remote cache."""
        return EntryAddress(self.kind.label, self.fingerprint)

    @property
    def step(self) -> WorkStep:
        return WorkStep(self.kind.label, self.subject, self.verb)


class RepeatedStage(Stage):
    """A stage that is never cached: its result describes the current state."""

    def parts(self) -> Mapping[str, Value]:
        return {}

    def condition(self) -> Condition:
        return Condition.ABSENT
