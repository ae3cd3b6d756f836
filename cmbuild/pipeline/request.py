"""What a user asks for: one model on one board, with all options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cmbuild import paths
from cmbuild.errors import UsageError
from cmcompiler.frontend.job import MAX_SEED

IO = ("program", "int8")
PLACES = ("simulator", "hardware")
EXECUTORS = ("static", "executorch")


def place_name(
    board: str, isa: str | None, toolchain: str | None, executor: str = EXECUTORS[0]
) -> str:
    """Of the folder of what is made for a board: <board>[.<isa>][.<toolchain>][.<executor>], as
    asked for.
    """
    other = executor if executor != EXECUTORS[0] else None
    return ".".join(filter(None, (board, isa, toolchain, other)))


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    """A model, and how it is exported if it is not a program already.

    Attributes:
        model: name in the zoo, `path.py[:callable]`, `path.pt2` or `path.pte`.
        seed: of random weights, training and synthetic inputs.
        weights: file with a state dict, in place of the model's own weights.
        calibration: file or folder, in place of the model's own calibration inputs.
    """

    model: str
    seed: int = 0
    weights: Path | None = None
    calibration: Path | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MAX_SEED:
            raise UsageError(message=f"seed {self.seed} is not from 0 to {MAX_SEED}")
        if self.is_program and (self.weights or self.calibration):
            option = "--weights" if self.weights else "--calibration"
            raise UsageError(
                message=f"{option} needs a model to export; {self.model} is already a program"
            )

    @property
    def is_program(self) -> bool:
        return self.model.endswith(".pte")


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildRequest(ModelRequest):
    """Firmware for a model on a board.

    Attributes:
        isa: instruction set of the kernels; the board's best if None.
        toolchain: the board's own if None.
        method: of the program.
        io: `program`, or `int8` to leave out the quantize and dequantize at the boundary.
        executor: `static`, or `executorch`: ExecuTorch's own runtime.
        executorch_root: its checkout; of the environment or the project if None.
        build_dir: gets a folder <model>/<place>.
    """

    board: str
    isa: str | None = None
    toolchain: str | None = None
    method: str = "forward"
    io: str = "program"
    executor: str = EXECUTORS[0]
    executorch_root: Path | None = None
    build_dir: Path = field(default_factory=paths.default_build)

    @property
    def uses_executorch(self) -> bool:
        """Whether ExecuTorch's own runtime is the executor."""
        return self.executor == "executorch"


@dataclass(frozen=True, kw_only=True, slots=True)
class FlashRequest(BuildRequest):
    """That firmware on a real board.

    Attributes:
        flash_method: the board's first that is possible here if None.
        volume: folder of the boot loader's volume, if there are several.
        probe: serial number of the debug probe, if there are several.
        port: the serial port that the board is at; found if None.
        dry_run: only say what would be done.
        timeout: seconds for what executes or flashes; a sensible limit if None.
    """

    flash_method: str | None = None
    volume: Path | None = None
    probe: str | None = None
    port: str | None = None
    dry_run: bool = False
    timeout: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest(FlashRequest):
    """A run of that firmware.

    Attributes:
        samples: how many; all that `inputs` hold, else 1, if None.
        inputs: one file for each input of the program, in place of the exported samples.
        output_dir: also gets the outputs.
        launcher: the best that this machine has if None.
        reset: mutable buffers begin anew with each sample, not with the first only.
        on: `simulator`, or `hardware`: a real board, which is flashed if it runs anything else.
    """

    samples: int | None = None
    inputs: tuple[Path, ...] = ()
    output_dir: Path | None = None
    launcher: str | None = None
    reset: bool = False
    on: str = "simulator"


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageRequest(ModelRequest):
    """The source of a model, for another build.

    Attributes:
        form: `zephyr`, whose build has the runtime, or `source`, with the runtime's sources.
        target: the core that it is for.
        isa: instruction set of the kernels; the core's best if None.
        method: of the program.
        io: `program`, or `int8` to leave out the quantize and dequantize at the boundary.
        samples: how many test vectors; all that `inputs` hold, else 1, if None.
        inputs: one file for each input of the program, in place of the exported samples.
        output_dir: also gets the package.
        build_dir: gets a folder <model>/<target>.<isa>.
    """

    form: str = "zephyr"
    target: str = "cortex-m55"
    isa: str | None = None
    method: str = "forward"
    io: str = "program"
    samples: int | None = None
    inputs: tuple[Path, ...] = ()
    output_dir: Path | None = None
    build_dir: Path = field(default_factory=paths.default_build)

    @property
    def reset(self) -> bool:
        """Test vectors are samples by themselves, whatever was run before."""
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplicationRequest:
    """An application of Zephyr's on a board.

    Attributes:
        sample: name of one of ours, or the folder of another.
        board: as Zephyr names it.
        model: in place of the application's own; None for that.
        workspace: west's, or a folder in it; looked for if None.
        timeout: seconds for a run or for flashing.
        build_dir: gets a folder zephyr/<sample>-<board>.
    """

    sample: str
    board: str
    model: str | None = None
    workspace: Path | None = None
    timeout: float | None = None
    build_dir: Path = field(default_factory=paths.default_build)

    @property
    def name(self) -> str:
        return Path(self.sample).name

    @property
    def place(self) -> str:
        return f"{self.name}-{self.board.replace('/', '_')}"

    @property
    def folder(self) -> Path:
        return self.build_dir.absolute() / "zephyr" / self.place


@dataclass(frozen=True, kw_only=True, slots=True)
class ConformanceRequest:
    """A run of ExecuTorch's own tests.

    Attributes:
        isa: instruction set of the kernels; the board's best if None.
        toolchain: the board's own if None.
        launcher: the best that this machine has if None.
        expression: which tests, as for pytest's -k; all if None.
        junit: also gets the results, as JUnit XML.
        jobs: how many tests to run at once.
        build_dir: gets a folder conformance/<place>.
    """

    board: str
    isa: str | None = None
    toolchain: str | None = None
    launcher: str | None = None
    expression: str | None = None
    junit: Path | None = None
    jobs: int = 1
    build_dir: Path = field(default_factory=paths.default_build)

    @property
    def folder(self) -> Path:
        place = place_name(self.board, self.isa, self.toolchain)
        return self.build_dir.absolute() / "conformance" / place
