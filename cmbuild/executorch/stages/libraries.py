"""upstream, operators: ExecuTorch's libraries for a core, and the registration of a program's
operators."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from cmbuild.cache.fingerprint import Value, fingerprint
from cmbuild.cache.store import Entry
from cmbuild.executorch import building, registration
from cmbuild.executorch.building import Parts
from cmbuild.executorch.checkout import Checkout
from cmbuild.executorch.families import PRIMITIVE, Family, assign
from cmbuild.executorch.runtime import Runtime
from cmbuild.executorch.stages.checkout import CheckoutStage
from cmbuild.executorch.stages.plan import ExecutorchPlanStage
from cmbuild.executorch.tree import Tree
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.stages.library import LibraryStage, toolchain_parts
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.process import Processes
from cmbuild.text import plural


class OperatorStage(Stage):
    """The registration, in the build folder of model and board."""

    kind = StageKind.OPERATORS
    verb = "generated"

    def __init__(
        self, plan: ExecutorchPlanStage, check: CheckoutStage, processes: Processes, folder: Path
    ) -> None:
        self.name = plan.name
        self.subject = f"registration for {plan.source.name}"
        self.after = (plan, check)
        self._plan = plan
        self._check = check
        self._processes = processes
        self._folder = folder

    @property
    def checkout(self) -> Checkout:
        return self._check.checkout

    @cached_property
    def families(self) -> Mapping[Family, tuple[str, ...]]:
        """Raises NoKernel if the checkout declares no such operator."""
        return assign(self.checkout.root, self._plan.operators)

    @property
    def parts_needed(self) -> Parts:
        """The parts of the checkout that the program needs."""
        primitives = any(name.startswith(f"{PRIMITIVE}::") for name in self._plan.operators)
        return Parts.of(self.families, primitives)

    @property
    def sources(self) -> tuple[Path, ...]:
        return registration.generated(self.families, self.entry.folder)

    def parts(self) -> Mapping[str, Value]:
        root = self.checkout.root
        return {
            "operators": {family.name: names for family, names in self.families.items()},
            "declarations": [root / family.declarations for family in self.families],
            "generator": root / "codegen",
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "operators")

    def check(self) -> None:
        """Raises NoGenerator."""
        registration.check_generator()

    def make(self, folder: Path) -> None:
        registration.generate(self.checkout, self.families, self._processes, folder)

    def summary(self) -> str:
        return f"{plural(len(self._plan.operators), 'operator')} of {self._plan.source.name}"


class ExecutorchLibraryStage(Stage):
    """Libraries for a core, shared by all programs that need the same ones; in the user's cache."""

    kind = StageKind.UPSTREAM
    verb = "built"
    shared = True

    def __init__(
        self, operators: OperatorStage, library: LibraryStage, context: WorkContext, folder: Path
    ) -> None:
        """
        Args:
            library: the static runtime's, with the same core and toolchain.
            folder: of all these libraries, in the cache.
        """
        self.name = operators.name
        self.subject = f"{library.subject}, for {operators.name}"
        self.after = (operators,)
        self.operators = operators
        self._library = library
        self._context = context
        self._folder = folder

    def parts(self) -> Mapping[str, Value]:
        checkout, needed = self.operators.checkout, self.operators.parts_needed
        return toolchain_parts(self._library.toolchain, self._library.target) | {
            "sources": checkout.sources,
            "options": needed.options,
            "targets": needed.targets,
            "portable": needed.portable,
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / f"{self._library.name}-{self.fingerprint[:16]}")

    @property
    def runtime(self) -> Runtime:
        operators = self.operators
        return building.built(operators.checkout, operators.parts_needed, self.entry.folder)

    def check(self) -> None:
        """Raises NoCompiler if a C++ compiler or its library is not installed."""
        if not self._library.is_host:
            building.check_compiler()

    def make(self, folder: Path) -> None:
        checkout, needed = self.operators.checkout, self.operators.parts_needed
        building.build(checkout, needed, self._tree, folder, self._context.note)

    @property
    def _tree(self) -> Tree:
        checkout, library = self.operators.checkout, self._library
        key = fingerprint(
            **toolchain_parts(library.toolchain, library.target),
            root=str(checkout.root),
            cmsis_nn=checkout.cmsis_nn_pin,
            variables=building.variables(checkout, self.operators.parts_needed),
        )
        return Tree(self._folder / "trees" / f"{library.name}-{key[:16]}", library.builder)

    def summary(self) -> str:
        families = ", ".join(family.name for family in self.operators.families)
        return f"{self._library.subject}: {families or 'no'} kernels"
