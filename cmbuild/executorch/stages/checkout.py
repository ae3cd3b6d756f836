"""checkout: checks that the checkout of ExecuTorch is complete and of the right version."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from cmbuild.cache.store import Entry
from cmbuild.executorch.checkout import Checkout, inspect, installed
from cmbuild.pipeline.stages.stage import RepeatedStage, StageKind


class CheckoutStage(RepeatedStage):
    """Never cached: users change their checkouts."""

    kind = StageKind.CHECKOUT
    verb = "checked"

    def __init__(self, root: Path, cmsis_nn: Path | None, name: str, folder: Path) -> None:
        self.name = name
        self.subject = str(root)
        self._root = root
        self._cmsis_nn = cmsis_nn
        self._folder = folder

    @cached_property
    def checkout(self) -> Checkout:
        """Raises NotACheckout, OtherVersion, MissingPieces, NotCmsisNn."""
        return inspect(self._root, self._cmsis_nn, installed())

    def check(self) -> None:
        """Raises NotACheckout, OtherVersion, MissingPieces, NotCmsisNn."""
        self.checkout  # noqa: B018

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "checkout")

    def make(self, folder: Path) -> None:
        (folder / "version").write_text(f"{self.checkout.version}\n")

    def summary(self) -> str:
        return f"ExecuTorch {self.checkout.version} in {self.checkout.root}"
