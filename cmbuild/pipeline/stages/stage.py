"""A stage of the pipeline from a model to a verified run: what its result is made from, and how."""

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


class StageKind(Enum):
    """The stages, in their order; the value is what `doit list` says."""

    EXPORT = "model → .pte with the Cortex-M quantizer and passes"
    PLAN = ".pte → kernel calls, packed weights, arena"
    LIBS = "runtime library for a CPU"
    CHECKOUT = "check that a checkout of ExecuTorch is complete"
    OPERATORS = "C++ that registers the kernels of a program with ExecuTorch's runtime"
    UPSTREAM = "ExecuTorch's libraries for a CPU, from a checkout"
    POOLS = "measure the memory that ExecuTorch's runtime allocates, in a dry run"
    HARNESS = "image with every kernel, which runs any program on a board"
    RUNNER = "firmware for a model on a board"
    REFERENCE = "the expected outputs of the samples, computed on the host"
    PACKAGE = "C source, weights and test vectors of a model, for builds without Python"
    WORKSPACE = "west workspace with Zephyr"
    APP = "Zephyr application with a model, built by west"
    FLASH = "flash a runner onto a real board"
    SIMULATE = "run a runner and compare with the reference"
    TESTS = "ExecuTorch's own tests of its Cortex-M backend, on a board"

    @property
    def label(self) -> str:
        return self.name.lower()


class Stage(ABC):
    """Makes one folder from others. Its methods, but for `check`, are called once the
    stages before it are done.

    Attributes:
        name: unique among the stages of its kind.
        subject: what it works on, for people.
        after: the stages whose results it needs.
    """

    kind: ClassVar[StageKind]
    verb: ClassVar[str]
    """What it has done when it is done, for people: `linked`."""

    shared: ClassVar[bool] = False
    """Whether the result is in the cache of the user, for others to use too."""

    name: str
    subject: str
    after: tuple[Stage, ...] = ()

    @abstractmethod
    def parts(self) -> Mapping[str, Value]:
        """All that the result depends on."""

    @property
    @abstractmethod
    def entry(self) -> Entry:
        """Where the result is."""

    @abstractmethod
    def make(self, folder: Path) -> None:
        """Makes the result in an empty folder, which becomes the entry."""

    def condition(self) -> Condition:
        """What the result is worth: made from what it depends on as it is now, and unchanged?"""
        return self.entry.condition(self.fingerprint)

    def check(self) -> None:  # noqa: B027  # most stages have nothing to check
        """Finds out before any work what would fail late: a tool or a file that is not there."""

    def summary(self) -> str:
        """One line about the result, when there is one."""
        return self.subject

    @property
    def result(self) -> object | None:
        """What it found out, to be shown; None before that, or where its files say it all."""
        return None

    def verdict(self) -> CmbuildError | None:
        """What is wrong with the result, though it was made."""
        return None

    @cached_property
    def fingerprint(self) -> str:
        """Of `parts`, taken once."""
        return fingerprint(kind=self.kind, **self.parts())

    @property
    def step(self) -> WorkStep:
        return WorkStep(self.kind.label, self.subject, self.verb)


class RepeatedStage(Stage):
    """A stage that is done whenever it is wanted: its result says how things are now."""

    def parts(self) -> Mapping[str, Value]:
        return {}

    def condition(self) -> Condition:
        return Condition.ABSENT
