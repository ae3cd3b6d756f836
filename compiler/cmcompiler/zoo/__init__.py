"""Built-in models: every module of this folder defines one as `MODEL`.

Modules whose names begin with an underscore are shared by several models.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.checkpoint import Checkpoint
from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.layer_files import LAYER_FILES, read_layers
from cmcompiler.frontend.model import Model, Task
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.weights import Origin, Weights, is_random
from cmcompiler.suggest import did_you_mean

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

    from cmcompiler.tflite.weights import LayerWeights

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
class Trained:
    """The published network of a model, whose padding, inputs and weights are its authors'.

    Attributes:
        checkpoints: `.tflite` files of its weights.
        shapes: of the weights of each layer.
        module: makes the network of its layers.
        data: inputs for a seed, of its range.
        join: the layers of those of several files.
        image: how to make its input from a picture.
    """

    checkpoints: tuple[Checkpoint, ...]
    shapes: tuple[tuple[int, ...], ...]
    module: Callable[[Sequence[LayerWeights]], torch.nn.Module]
    data: Callable[[int], Data]
    join: Callable[..., list[LayerWeights]] = lambda layers: layers
    image: ImageInput | None = None

    def load(self, file: Path | None) -> tuple[torch.nn.Module, Weights]:
        """
        Args:
            file: with the weights; None for the published ones.

        Raises:
            OSError: these cannot be downloaded.
            InvalidRequest: the file does not fit.
        """
        if file is not None:
            return self._made(read_layers(file), file), Weights(Origin.FILE, file.name)
        files = [checkpoint.fetch() for checkpoint in self.checkpoints]
        layers = self.join(*map(read_layers, files))
        names = ", ".join(each.url.rpartition("/")[2] for each in self.checkpoints)
        return self._made(layers, files[0]), Weights(Origin.PRETRAINED, f"MLPerf Tiny's {names}")

    def with_random_weights(self, seed: int) -> torch.nn.Module:
        """The network with seeded random weights."""
        import torch

        from cmcompiler.zoo._mlperf import random_layers

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.module(random_layers(self.shapes))

    def _made(self, layers: Sequence[LayerWeights], file: Path) -> torch.nn.Module:
        given = tuple(layer.weights.shape for layer in layers)
        for index, (own, wanted) in enumerate(zip(given, self.shapes, strict=False)):
            if own != wanted:
                raise InvalidRequest(
                    f"{file} does not fit the model: layer {index} has shape {own}, not {wanted}"
                )
        if len(given) != len(self.shapes):
            raise InvalidRequest(
                f"{file} does not fit the model: {len(given)} layers, not {len(self.shapes)}"
            )
        return self.module(layers)


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
        trained: the published network, in place of the module unless random weights are requested.
        plainly: how the module differs from that, if it does.
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
    trained: Trained | None = None
    plainly: str = ""

    @property
    def files(self) -> tuple[Path, ...]:
        return (
            FOLDER / f"{self.name}.py",
            FOLDER / "__init__.py",
            *sorted(FOLDER.glob("_[!_]*.py")),
        )

    @property
    def expects_weights(self) -> Path | None:
        own = self.checkpoint or (self.trained.checkpoints[-1] if self.trained else None)
        return own.path if own else None

    @property
    def definition(self) -> tuple[str, int] | None:
        return None

    def load(self, seed: int, weights: Path | None = None) -> Model:
        import torch

        if is_random(weights):
            reason = f"requested{f', with {self.plainly}' if self.plainly else ''}"
            return self._model(*self._random(seed, reason), self.data(seed), self.image)
        if self.trained is not None and (weights is None or weights.suffix in LAYER_FILES):
            try:
                module, origin = self.trained.load(weights)
            except OSError as error:
                if weights is not None:
                    raise InvalidRequest(f"{weights}: {error.strerror or error}") from None
                module = self.trained.with_random_weights(seed)
                reason = f"pretrained weights could not be downloaded: {error}"
                origin = Weights(Origin.RANDOM, reason)
            return self._model(module, origin, self.trained.data(seed), self.trained.image)
        data, reason = self.data(seed), f"no published weights for {self.name}"
        batch = torch.from_numpy(data.calibration)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.module()
            origin = self._weigh(module, batch, seed, weights, reason)
        return self._model(module, origin, data, self.image)

    def _random(self, seed: int, reason: str) -> tuple[torch.nn.Module, Weights]:
        """The module with seeded random weights."""
        import torch

        from cmcompiler.frontend.weights import randomize

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.module()
            randomize(module, torch.from_numpy(self.data(seed).calibration))
        return module, Weights(Origin.RANDOM, reason)

    def _model(
        self, module: torch.nn.Module, origin: Weights, data: Data, image: ImageInput | None
    ) -> Model:
        import torch

        from cmcompiler.frontend.vectors import Samples

        batch = torch.from_numpy(data.calibration)
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
            image=image,
        )

    def _weigh(
        self,
        module: torch.nn.Module,
        batch: torch.Tensor,
        seed: int,
        file: Path | None,
        reason: str,
    ) -> Weights:
        from cmcompiler.frontend.weights import assign, randomize

        if file is not None:
            assign(module, file)
            return Weights(Origin.FILE, file.name)
        if self.train is not None:
            return Weights(Origin.TRAINED, self.train(module, seed))
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
