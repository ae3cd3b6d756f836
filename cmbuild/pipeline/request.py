"""A user's request: a model, a place for it, and all options."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field
from math import inf
from pathlib import Path
from typing import Literal

from cmbuild import paths, text
from cmbuild.discovery import listed, names
from cmbuild.display.mixture import MixResult
from cmbuild.errors import UsageError
from cmbuild.hardware.rack.address import PREFIX, RackAddress
from cmbuild.launchers import simulators
from cmbuild.outputs.delivery import Destination
from cmbuild.pipeline.copies import Copying
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.options import INNER, option
from cmbuild.pipeline.weight_types import divided
from cmbuild.toolchain.toolchains import CROSS
from cmcompiler.importer.suffixes import PROGRAMS, TFLITE

IO, FEEDS = ("program", "int8", "uint8", "int16"), ("whole", "rows", "again")
SIMULATOR, HARDWARE, PROBE = "simulator", "hardware", "probe"
NATIVE = "native"  # the board that is this computer
WEIGHTS = NARROW, WIDE = ("int8", "int16")
CONSTANTS, EXECUTORS = ("binary", "c"), ("static", "executorch")
MLPERF = "mlperf-tiny"
"""A package with MLPerf Tiny's benchmark around it."""

_NOUNS = {"board": "board", "isa": "set of instructions", "toolchain": "toolchain"}

_OF_EXPORTS = tuple(
    ["weights", "weight_type", "calibration", "activations", "no_refinement", "portable"]
)

FORCE = "Write over files that others made or changed."


class UnknownPlace(UsageError):
    template = "--on {on!r} is not simulator, hardware, probe or labgrid:PLACE"
    hint = "labgrid:TAG=VALUE is any place with this tag; docs/flashing.md tells more"


def build_dir_option() -> Path:
    """The option --build-dir."""
    folder: Path = option(
        "Folder for firmware and results.", paths.default_build, metavar="DIR", shown="build"
    )
    return folder


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelChoice:
    """A model, and how to export it unless it is already a program.

    Attributes:
        model: name in the project or the zoo, `path.py[:callable]`, `path.pt2`, `path.pte` or
            `path.tflite`.
        label: its name in the project, once `model` is what that stands for.
        precision: of its modules, as the project says, by patterns of their paths.
        weight_type: int8, int4, int4/32 and so on, or int16, if `weights` ends with it.
        data: labelled samples that accuracy is measured on, if the project names some.
        needs: for which the precision of its modules is to be chosen.
        mix: how it was chosen.
        sensitivity: its export measures what quantising each operator costs.
        parts: its export measures what each rounding of its parts costs.
    """

    model: str
    seed: int = option("Seed for random weights, training and inputs.", 0)
    weights: Path | None = option(
        "Load this state dict; for MLPerf Tiny's networks also .tflite or .npz, or `random`. int4, "
        "alone or as FILE,int4: weights of four bits, for half the flash; int4/32, /64 or /128: "
        "with a scale for so many columns. int16: with --activations int16.",
        metavar="FILE",
    )
    calibration: Path | None = option(
        "Calibrate with this .npy, .npz or .pt file, or a folder of them.", metavar="PATH"
    )
    activations: str | None = option(
        "int16: for less rounding at twice the RAM; by default int8, or as the project says.",
        choices=("int8", "int16"),
    )
    no_refinement: bool = option("Keep the quantizer's own ranges, weights and biases.", False)
    portable: bool = option("Keep to operators that ExecuTorch's own runtime has.", False)
    keep_state: bool = option(
        "LSTMs of a .tflite go on where the run before ended, as in LiteRT, unless --reset; by "
        "default each run starts from zero, as in TensorFlow Lite Micro.",
        False,
    )
    intermediates: Path | None = option(
        "Write each stage of export and plan as text.", is_output=True, metavar="DIR"
    )
    force: bool = option(FORCE, False)
    needs: Needs = field(default_factory=Needs)
    label: str | None = None
    data: Path | None = None
    precision: tuple[tuple[str, str], ...] = ()
    weight_type: str | None = None
    sensitivity: bool = field(default=False, metadata=INNER)
    parts: bool = field(default=False, metadata=INNER)
    mix: MixResult | None = field(default=None, metadata=INNER)

    def __post_init__(self) -> None:
        from cmcompiler.frontend.job import MAX_SEED

        for name, value in divided(self.weights, self.weight_type).items():
            object.__setattr__(self, name, value)
        if not 0 <= self.seed <= MAX_SEED:
            raise UsageError(message=f"seed {self.seed} is not from 0 to {MAX_SEED}")
        if self.is_program:
            for name in (each for each in _OF_EXPORTS if getattr(self, each)):
                flag = f"--{name.replace('weight_type', 'weights').replace('_', '-')}"
                problem = f"{flag} needs a model to export; {self.model} is already a program"
                raise UsageError(message=problem)
        if self.is_program and self.needs.options:
            words = " and ".join(self.needs.options)
            problem = f"{words} needs a model to export; {self.model} is a program"
            raise UsageError(message=problem)

    @property
    def is_program(self) -> bool:
        return self.model.endswith(PROGRAMS)

    @property
    def name(self) -> str:
        """As the user calls it."""
        return self.label or self.model

    @property
    def texts(self) -> Destination | None:
        """Where the stages of export and plan go as text, if they are wanted."""
        return None if self.intermediates is None else Destination(self.intermediates, self.force)


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardChoice:
    """A board, and the toolchain for it."""

    board: str = option(
        "See `cmbuild boards`; by default the project's.", MISSING, flags=("-b",), metavar="NAME"
    )
    isa: str | None = option(
        "Use a lower one than the board's best: scalar, dsp or mve.", metavar="ISA"
    )
    toolchain: str | None = option(f"{listed(CROSS)}; by default the board's own.", metavar="NAME")

    def __post_init__(self) -> None:
        for key in ("board", "isa", "toolchain"):
            name = getattr(self, key)
            # They become the name of a folder, before anything looks for them.
            if name is not None and (name in ("", ".", "..") or "/" in name):
                raise UsageError(message=f"{name!r} is not the name of a {_NOUNS[key]}")

    @property
    def name(self) -> str:
        """The name of its folder: <board>[.<isa>][.<toolchain>], as requested."""
        return ".".join(filter(None, (self.board, self.isa, self.toolchain)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Boundary:
    """A method of a program, and how its inputs and outputs are passed."""

    method: str = option("Method of the program.", "forward", metavar="NAME")
    io: str | None = option(
        "int8 or int16: omit quantize and dequantize at inputs and outputs; uint8: take inputs of "
        "unsigned bytes, such as a camera's; by default program, all as they are.",
        metavar="TYPE",
        choices=IO,
    )
    feed: str | None = option(
        "rows: take inputs and hand out images row by row, so that RAM never holds them whole; by "
        "default where that makes the arena smaller; again: some columns more than once, for a "
        "smaller --ram-budget.",
        choices=FEEDS,
    )

    @property
    def by_rows(self) -> bool:
        """Whether rows are asked for."""
        return self.feed not in (None, FEEDS[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Planning:
    """How the static executor's plan is made."""

    no_streams: bool = option("Compute whole tensors, never a few rows of several in turns.", False)
    ram_budget: str | None = option(
        "Use the fastest plan whose arena fits in it: 256K; by default the smallest arena for some "
        "3 % more instructions.",
        metavar="SIZE",
    )
    weights_as: str | None = option(
        "int16: twice the flash for weights of convolutions and linear layers, and fewer cycles; "
        "for cores with the DSP extension (M4, M7, M33).",
        choices=WEIGHTS,
    )

    def __post_init__(self) -> None:
        if self.ram_budget is not None and not text.parse_size(self.ram_budget):
            raise UsageError(
                message=f"--ram-budget {self.ram_budget!r} is not a size",
                hint="bytes, or with a unit: 262144, 256K, 1.5M",
            )

    @property
    def wide(self) -> bool:
        """Whether weights are expanded to int16."""
        return self.weights_as == WIDE

    @property
    def budget(self) -> int | None:
        """Bytes of arena."""
        return None if self.ram_budget is None else text.parse_size(self.ram_budget)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecutorChoice:
    """The executor of the program."""

    executor: str = option("executorch: ExecuTorch's own runtime.", EXECUTORS[0], choices=EXECUTORS)
    executorch_root: Path | None = option(
        "ExecuTorch's checkout; by default $EXECUTORCH_ROOT.", metavar="DIR"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """The samples that a program runs on.

    Attributes:
        first: of those in the inputs, the number of the first.
        is_compared: whether the float model computes them, too.
    """

    samples: int | Literal["all"] | None = option(
        "Samples, or all; by default one.",
        flags=("-n",),
        least=1,
        words=("all",),
        metavar="N",
    )
    inputs: tuple[Path, ...] = option(
        "A .npy, .pt or image, once for each input; or one .npz of samples.",
        (),
        name="input",
        metavar="FILE",
    )
    output_dir: Path | None = option("Folder for output_0.npy, ...", is_output=True, metavar="DIR")
    reset: bool = option("Reset mutable buffers before each sample.", False)
    first: int = 0
    is_compared: bool = True

    def count(self, there: int, default: int) -> int:
        """How many samples, of so many."""
        return there if self.samples == "all" else self.samples or default


@dataclass(frozen=True, kw_only=True, slots=True)
class FlashOptions:
    """A real board, and how to flash it."""

    volume: Path | None = option(
        "The boot loader's volume, if there are several boards.", metavar="DIR"
    )
    probe: str | None = option("The debug probe, if there are several.", metavar="ID")
    port: str | None = option("The serial port, if there are several.", metavar="PORT")
    flash_method: str | None = option(
        "As `cmbuild flash --method`; for --on hardware.", metavar="NAME"
    )
    dry_run: bool = option("Build, and print what flashing would do.", False)
    timeout: float | None = option(
        "For the simulator or board; by default by the model's work.", metavar="SECONDS"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits that a program must not exceed."""

    max_float: str | None = option(
        "Fail if more of the instructions are in float: 0%.", metavar="SHARE"
    )

    def __post_init__(self) -> None:
        from cmbuild.pipeline.floats import parse_max_float

        if self.max_float is not None:
            parse_max_float(self.max_float)


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastQuality:
    """The least quality of a program against its float model."""

    min_snr: float | None = option(
        "Fail if an output, or a layer by itself, keeps fewer dB of the float model's numbers.",
        metavar="DB",
    )

    def __post_init__(self) -> None:
        if self.min_snr is not None and not 0 < self.min_snr < inf:
            raise UsageError(message=f"--min-snr {self.min_snr:g} is not a level above 0 dB")

    def check(self, source: ModelChoice) -> None:
        """Raises UsageError for a program, which has no float model."""
        if self.min_snr is not None and source.is_program:
            raise UsageError(
                message=f"--min-snr needs a float model; {source.model} is already a program"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildRequest:
    """Firmware for a model on a board, in a folder <model>/<place> of build_dir."""

    place: BoardChoice
    source: ModelChoice
    boundary: Boundary = field(default_factory=Boundary)
    planning: Planning = field(default_factory=Planning)
    copying: Copying = field(default_factory=Copying)
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)
    build_dir: Path = build_dir_option()

    def __post_init__(self) -> None:
        if not self.is_static and self.source.model.endswith(TFLITE):
            raise UsageError(
                message=f"--executor {self.executor.executor} runs .pte programs; "
                f"{self.source.model} is a TensorFlow Lite program",
                hint="omit --executor",
            )

    @property
    def is_static(self) -> bool:
        """Whether the static executor runs the program."""
        return self.executor.executor == EXECUTORS[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class FlashRequest:
    """Request to flash firmware onto a real board."""

    build: BuildRequest
    flashing: FlashOptions = field(default_factory=FlashOptions)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    """A run of that firmware; a real board is flashed if it runs another image."""

    build: BuildRequest
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    quality: LeastQuality = field(default_factory=LeastQuality)
    launcher: str | None = option(
        f"{listed(names(simulators))}; by default the best available.", metavar="NAME"
    )
    on: str = option(
        "hardware: a real board, flashed first if it runs another image; probe: by its debug probe "
        "alone; labgrid:PLACE or labgrid:TAG=VALUE: one in a rack.",
        SIMULATOR,
        metavar="WHERE",
    )
    flashing: FlashOptions = field(default_factory=FlashOptions)

    def __post_init__(self) -> None:
        if self.rack is None and self.on not in (SIMULATOR, HARDWARE, PROBE):
            raise UnknownPlace(on=self.on)
        self.quality.check(self.build.source)

    @property
    def rack(self) -> RackAddress | None:
        """Which board of a rack, if `on` names one; raises UsageError."""
        return RackAddress.parse(self.on) if self.on.startswith(PREFIX) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageRequest:
    """The source of a model, for another build, in a folder <model>/<target>.<isa> of build_dir."""

    source: ModelChoice
    form: str = option(
        "The build it is for; all but zephyr include the runtime's C files.",
        "source",
        name="as",
        choices=("source", "arduino", "platformio", "zephyr", MLPERF),
        shown=True,
    )
    board: str | None = option(
        f"With --as {MLPERF}: whose start-up, clock and terminal make an image; its core is the "
        "target.",
        metavar="NAME",
    )
    constants: str = option(
        "c: weights and test vectors as arrays in C and, with --isa scalar, no assembly.",
        CONSTANTS[0],
        choices=CONSTANTS,
        shown=True,
    )
    name: str | None = option(
        "Prefix of all symbols, macros and files: a C identifier; by default from the model.",
        metavar="NAME",
    )
    target: str = option("The core.", "cortex-m55", metavar="CPU", shown=True)
    isa: str | None = option("One below the core's best: scalar, dsp or mve.", metavar="ISA")
    boundary: Boundary = field(default_factory=Boundary)
    planning: Planning = field(default_factory=Planning)
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    build_dir: Path = build_dir_option()

    def __post_init__(self) -> None:
        if self.boundary.feed == "again":
            raise UsageError(
                message="--feed again is not for packages, whose applications push each row once",
                hint="--feed rows",
            )
        if self.form == MLPERF and self.boundary.feed == "rows":
            raise UsageError(
                message=f"--feed rows is not for --as {MLPERF}, whose runner loads whole inputs",
                hint="omit --feed",
            )
        if self.board is not None and self.form != MLPERF:
            raise UsageError(
                message=f"--board is for --as {MLPERF}; other packages are for any board",
                hint="name the core by --target",
            )

    @property
    def destination(self) -> Destination | None:
        """The user's folder for the package, if one is named."""
        folder = self.sampling.output_dir
        return None if folder is None else Destination(folder, self.source.force)
