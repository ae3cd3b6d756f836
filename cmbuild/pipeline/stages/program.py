"""The program that the stages after the export work on: exported, or the user's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import cmcompiler
from cmbuild.cache.fingerprint import Value, digest
from cmbuild.errors import UsageError
from cmbuild.results import WeightsResult
from cmcompiler.errors import InvalidProgram, InvalidRequest, Unsupported
from cmcompiler.extension import Extension
from cmcompiler.frontend.call_sites import with_lines
from cmcompiler.frontend.portability import lacking
from cmcompiler.importer.suffixes import TFLITE

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.export import ExportStage
    from cmbuild.pipeline.stages.stage import Stage
    from cmcompiler.frontend.job import ExportRecord
    from cmcompiler.ir.graph import Graph
    from cmcompiler.pte.program import Method, Program

_READERS = ("decode", "errors.py", "importer", "ir", "isa.py", "ops", "pte", "tflite")


@cache
def _code(name: str) -> str:
    """The digest of a part of the compiler; once for all stages, because all run the same code."""
    return digest(Path(cmcompiler.__file__).parent / name)


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """Where a program comes from, and which method and boundary to use.

    Attributes:
        name: for folders and symbols.
        method: of the program.
        io: `program`, `int8` or `uint8`: see cmcompiler.importer.build.build_graph.
        file: the user's program.
        export: the stage that makes it otherwise.
        ops: the project's, which it may contain.
        keep_state: LSTMs of a `.tflite` go on where the run before ended.
    """

    name: str
    method: str
    io: str
    file: Path | None = None
    export: ExportStage | None = None
    ops: Extension = field(default_factory=Extension)
    keep_state: bool = False

    @property
    def path(self) -> Path:
        if self.export is not None:
            return self.export.program
        assert self.file is not None
        return self.file

    @property
    def model(self) -> str:
        """The name that the user gave."""
        return str(self.path) if self.export is None else self.export.model

    @property
    def after(self) -> tuple[Stage, ...]:
        """The stages that make the program."""
        return () if self.export is None else (self.export,)

    @property
    def record(self) -> ExportRecord | None:
        """Its record from the export."""
        return None if self.export is None else self.export.record

    @property
    def weights(self) -> WeightsResult:
        if self.record is None:
            return WeightsResult("program", f"those in {self.path.name}")
        return WeightsResult(self.record.weights.source.value, self.record.weights.detail)

    @property
    def layer_names(self) -> Mapping[int, str]:
        """Names that a `.tflite` file gives the results of its instructions; else empty."""
        from cmcompiler.tflite.reader import is_tflite, read_layers

        if self.export is not None:
            return {}
        data = self.read()
        return read_layers(data) if is_tflite(memoryview(data)) else {}

    def parts(self, *compiler: str) -> dict[str, Value]:
        """Fingerprint parts of the graph, and of any result of cmcompiler's modules."""
        return {
            "program": self.path,
            "method": self.method,
            "io": self.io,
            "keep_state": self.keep_state,
            "compiler": {name: _code(name) for name in (*_READERS, *compiler)},
            "ops": self.ops.host,
        }

    def read(self) -> bytes:
        """Raises UsageError if the file does not exist or cannot be read."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(message=f"cannot read {self.path}: {reason}") from error

    def chosen(self) -> Method:
        """The chosen method; raises UsageError or CompilerError like `graph`."""
        from cmcompiler.pte.methods import find_method

        with self.told():
            return find_method(self._parsed(), self.method)

    def operators(self) -> Iterator[str]:
        """Full names of the method's operators; raises UsageError or CompilerError like `graph`."""
        from cmcompiler.pte.program import KernelInstruction

        for instruction in self.chosen().instructions:
            if isinstance(instruction, KernelInstruction):
                yield instruction.operator

    @property
    def lacking(self) -> tuple[str, ...]:
        """Operators that ExecuTorch's own runtime does not have; raises like `graph`.

        None of a `.tflite`, which that runtime does not read at all.
        """
        if self.path.suffix == TFLITE:
            return ()
        if self.record is not None:
            return self.record.lacking
        return lacking(self.operators())

    def graph(self) -> Graph:
        """
        Raises:
            UsageError: the file cannot be read, or is not a program.
            CompilerError: the program cannot be run, or an op of the project is broken.
        """
        from cmcompiler.importer.build import build_graph

        with self.told(), self.ops.registered():
            return build_graph(self._parsed(), self.method, self.io)

    def live_graph(self) -> Graph:
        """`graph` without channels that change no output, as devices compute it; raises likewise.

        The reference keeps `graph`, so that each run checks this one.
        """
        from cmcompiler.importer.pruning import pruned

        return pruned(self.graph())

    def _parsed(self) -> Program:
        from cmcompiler.importer.programs import parse

        return parse(self.read(), self.path.suffix, keep_state=self.keep_state)

    def _placed(self, message: str) -> str:
        """A message with the lines of the user's source that its instructions, `#3`, come from."""
        if self.record is None:
            return message
        return with_lines(message, self.record.instructions, self.record.call_sites)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Names file and line in errors about programs, and about what they are given."""
        try:
            yield
        except (Unsupported, InvalidRequest) as error:
            raise type(error)(self._placed(error.message), error.hint) from error
        except InvalidProgram as error:
            message = f"{self.path.name}: {error.message}"
            raise UsageError(message=message, hint=error.hint) from error
