"""The programs that mutants are made from, and their mutants."""

from __future__ import annotations

import os
import random
import struct
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.calls import program_calling
from harness.golden import VARIABLE
from harness.operator_calls import operator_calls
from harness.program_file import write_program
from harness.programs import NAMES, program_bytes

from cmcompiler.errors import CompilerError
from cmcompiler.importer.suffixes import PROGRAMS, PTE, TFLITE
from cmcompiler.pte.program import Method, Program
from cmcompiler.pte.reader import read_program
from cmcompiler.tflite.reader import is_tflite
from fuzz.bytes_mutations import Read, damaged, numbers_read
from fuzz.program_mutations import changed
from fuzz.tflite_mutations import tflite_mutant, tflite_seeds

MOST_SEEDS = 3000

LARGEST_SEED = 1 << 16
"""Bytes."""

LARGE = 4 << 10
"""Bytes of a program whose mutants take long to plan."""

SHARE_OF_LARGE = 0.25
"""How much more rarely than others they are taken."""


@dataclass(frozen=True, eq=False)
class Seed:
    """A program to be changed."""

    data: bytes

    @cached_property
    def method(self) -> Method | None:
        """The first one that the reader accepts."""
        try:
            methods = read_program(self.data).methods
        except CompilerError:
            return None
        return next((method for method in methods if isinstance(method, Method)), None)

    @cached_property
    def numbers(self) -> list[Read]:
        """Those that the reader reads."""
        return numbers_read(self.data)


class Corpus:
    """Programs, and those of their mutants that went a way no other one did.

    Args:
        seeds: at first.
    """

    def __init__(self, seeds: Iterable[Seed]) -> None:
        self._seeds = list(seeds)
        self._ways: set[str] = set()

    @classmethod
    def of_tests(cls, formats: Sequence[str] = PROGRAMS) -> Corpus:
        """The programs of the tests, a call of every operator, and the golden set if it is there.

        Args:
            formats: suffixes of the files.
        """
        programs = [
            *(_pte_programs() if PTE in formats else ()),
            *(tflite_seeds() if TFLITE in formats else ()),
        ]
        corpus = cls(map(Seed, programs))
        for seed in corpus._seeds:
            # Read now, for all copies in processes that are forked later.
            _ = seed.method, seed.numbers
        return corpus

    def copy(self) -> Corpus:
        """The same programs; each copy learns for itself."""
        return Corpus(self._seeds)

    def mutant(self, chance: random.Random) -> bytes:
        """A changed program: mostly its meaning, else its bytes, or both."""
        seed = self._choose(chance)
        data = seed.data
        if is_tflite(data):
            return tflite_mutant(data, chance)
        way = chance.random()
        if way >= 0.7:
            return damaged(data, chance, seed.numbers)
        first, second = seed.method, self._choose(chance).method
        if first is not None:
            # What the file has no field for is not a mutant.
            with suppress(struct.error):
                data = write_program(Program(0, (changed(first, second or first, chance),)))
        return damaged(data, chance) if way > 0.65 else data

    def learn(self, way: str, data: bytes) -> None:
        """Keeps a mutant if its way is new.

        Args:
            way: equal for programs that went the same way.
        """
        if way not in self._ways and len(self._seeds) < MOST_SEEDS:
            self._ways.add(way)
            if 0 < len(data) < LARGEST_SEED:
                self._seeds.append(Seed(data))

    def _choose(self, chance: random.Random) -> Seed:
        while True:
            seed = chance.choice(self._seeds)
            if len(seed.data) < LARGE or chance.random() < SHARE_OF_LARGE:
                return seed


def _pte_programs() -> list[bytes]:
    programs = [program_bytes(name) for name in NAMES]
    for operator, arguments in operator_calls().items():
        programs.append(write_program(program_calling(operator, *arguments)))
    for file in sorted(Path(os.environ.get(VARIABLE, "/nonexistent")).glob("cases/*.zip")):
        with zipfile.ZipFile(file) as archive:
            data = archive.read("model.pte")
        if len(data) < LARGEST_SEED and "@" not in file.name:
            programs.append(data)
    return programs
