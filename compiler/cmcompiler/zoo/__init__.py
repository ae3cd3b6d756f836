"""Built-in models: every module of this folder defines one as `MODEL`.

Modules whose names begin with an underscore are shared by several models.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.checkpoint import Checkpoint
from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.model import Model, Task
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.weights import Origin, Weights
from cmcompiler.suggest import did_you_mean

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

FOLDER = Path(__file__).parent


@dataclass(frozen=True, eq=False, slots=True)
class Data:
    """Inputs for a model, float32.

    Attributes:
        detail: describes them for people.
        calibration: shape (samples, *x.shape[1:]); training inputs if the model is trained.
        samples: held out of the above, in the same form.
        labels: classes of the samples, shape (samples,), or None.
        is_real: False for random numbers.
    """

    detail: str
    calibration: npt.NDArray[Any]
    samples: npt.NDArray[Any]
    labels: npt.NDArray[Any] | None = None
    is_real: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ZooModel:
    """A model of the zoo; describing it calls none of its functions and does not import torch.

    Attributes:
        name: that of its module.
        summary: one line.
        input_shape: of its only input, float32, batch included.
        dataset: that its inputs come from or resemble.
        module: makes the module with random weights.
        data: inputs for a seed.
        classes: names of its outputs.
        train: trains a module without a checkpoint in place for a seed and returns how.
        checkpoint: published weights.
    """

    name: str
    summary: str
    input_shape: tuple[int, ...]
    task: Task
    dataset: str
    module: Callable[[], torch.nn.Module]
    data: Callable[[int], Data]
    classes: Callable[[], tuple[str, ...]] = tuple
    image: ImageInput | None = None
    train: Callable[[torch.nn.Module, int], str] | None = None
    checkpoint: Checkpoint | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (
            FOLDER / f"{self.name}.py",
            FOLDER / "__init__.py",
            *sorted(FOLDER.glob("_[!_]*.py")),
        )

    @property
    def expects_weights(self) -> Path | None:
        return self.checkpoint.path if self.checkpoint else None

    @property
    def definition(self) -> tuple[str, int] | None:
        return None

    def load(self, seed: int, weights: Path | None = None) -> Model:
        import torch

        from cmcompiler.frontend.vectors import Samples

        data = self.data(seed)
        batch = torch.from_numpy(data.calibration)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.module()
            origin = self._weigh(module, batch, seed, weights)
        return Model(
            module=module.eval(),
            example_inputs=(batch[:1],),
            calibration=[(batch[index : index + 1],) for index in range(len(batch))],
            calibration_detail=data.detail,
            has_real_calibration=data.is_real,
            samples=Samples((data.samples[:, None],), data.labels),
            samples_origin=SampleOrigin.SAMPLES if data.is_real else SampleOrigin.SYNTHETIC,
            samples_detail=data.detail,
            weights=origin,
            task=self.task,
            classes=self.classes(),
            image=self.image,
        )

    def _weigh(
        self, module: torch.nn.Module, batch: torch.Tensor, seed: int, file: Path | None
    ) -> Weights:
        from cmcompiler.frontend.weights import assign, randomize

        if file is not None:
            assign(module, file)
            return Weights(Origin.FILE, file.name)
        if self.train is not None:
            return Weights(Origin.TRAINED, self.train(module, seed))
        reason = f"no published weights for {self.name}"
        if self.checkpoint is not None:
            try:
                path = self.checkpoint.fetch()
            except OSError as error:
                reason = f"pretrained weights could not be downloaded: {error}"
            else:
                assign(module, path)
                return Weights(Origin.PRETRAINED, path.name)
        randomize(module, batch)
        return Weights(Origin.RANDOM, reason)


def names() -> tuple[str, ...]:
    """Names of all models, sorted; imports none of them."""
    modules = (module.name for module in pkgutil.iter_modules([str(FOLDER)]))
    return tuple(sorted(name for name in modules if not name.startswith("_")))


def get(name: str) -> ZooModel:
    """Raises InvalidRequest for an unknown name."""
    if name not in names():
        raise InvalidRequest(f"unknown model {name}", did_you_mean(name, names()))
    model = import_module(f"{__name__}.{name}").MODEL
    if not isinstance(model, ZooModel) or model.name != name:
        raise TypeError(f"zoo/{name}.py does not define the model {name}")
    return model


def models() -> tuple[ZooModel, ...]:
    """All models, by name."""
    return tuple(map(get, names()))
