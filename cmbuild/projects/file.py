"""The tables of cmbuild.toml, or of `[tool.cmbuild]` in pyproject.toml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from cmbuild.projects.quantities import parse_bytes, parse_count, parse_decibels, parse_share
from cmbuild.strictfile import Table


def _written(*examples: float | str) -> WithJsonSchema:
    """A number that may be text, such as `"64K"`."""
    return WithJsonSchema({"type": ["number", "string"], "examples": list(examples)})


Bytes = Annotated[int, BeforeValidator(parse_bytes), _written(65536, "64K", "1.5M")]
Count = Annotated[int, BeforeValidator(parse_count), _written(3900000, "3.9M")]
Share = Annotated[float, BeforeValidator(parse_share), _written(0.93, "93%")]
Decibels = Annotated[float, BeforeValidator(parse_decibels), _written(30, "30 dB")]
Milliseconds = Annotated[float, Field(gt=0, strict=False)]

Text = Annotated[str, StringConstraints(min_length=1)]


class OpsFile(Table):
    """[ops]: folders with the project's own ops; see cmcompiler.extension.Extension."""

    host: str | None = None
    kernels: str | None = None
    torch: str | None = None


class ExecutorchFile(Table):
    """[executorch]: the checkout for --executor executorch, and CMSIS-NN's sources."""

    root: str | None = None
    cmsis_nn: str | None = None


class DefaultsFile(Table):
    """[project]: default model and board of commands; boards that `check` runs every model on."""

    model: Text | None = None
    board: Text | None = None
    boards: list[Text] = Field(default_factory=list)


class BudgetFile(Table):
    """[models.NAME.budget.BOARD]: what a model may cost on a board, and how good it must be."""

    flash: Bytes | None = Field(None, description="Most bytes of flash: weights and code.")
    ram: Bytes | None = Field(None, description="Most bytes of RAM: arena, variables and stack.")
    arena: Bytes | None = Field(None, description="Most bytes of the arena.")
    pte: Bytes | None = Field(None, description="Most bytes of the program.")
    instructions: Count | None = Field(None, description="Most instructions of one inference.")
    cycles: Count | None = Field(None, description="Most cycles of one inference.")
    cycles_with_flash: Count | None = Field(
        None, description="Most cycles of one inference, with what the core waits for flash."
    )
    milliseconds: Milliseconds | None = Field(None, description="Longest inference.")
    float: Share | None = Field(None, description="Largest share of instructions in float.")
    accuracy: Share | None = Field(None, description="Least accuracy of the int8 model.")
    snr: Decibels | None = Field(None, description="Least SNR against the float model, in dB.")
    resolution: Decibels | None = Field(
        None, description="Least that rounding may leave of a layer by itself, in dB."
    )


class NeedsFile(Table):
    """[models.NAME.needs]: for which the precision of each module is chosen."""

    snr: Decibels | None = Field(None, description="As --snr: dB of every output.")
    accuracy_drop: Share | None = Field(None, description="As --accuracy-drop: of samples.")
    flash_budget: Bytes | None = Field(None, description="As --flash-budget: weights and code.")
    ram_budget: Bytes | None = Field(None, description="As --ram-budget: the arena.")


Precision = Literal["8w8a", "8w16a", "4w8a", "4w8a/32", "4w8a/64", "4w8a/128", "4w16a", "16w16a"]
"""The types that cmcompiler.frontend.precision knows."""


class ModelFile(Table):
    """[models.NAME]: a model and how it is exported; paths are relative to the file."""

    source: Text = Field(
        description="path.py[:callable], path.pt2, path.pte, path.tflite, or a zoo model."
    )
    weights: Text | None = Field(None, description="State dict to load.")
    calibration: Text | None = Field(None, description="File or folder of calibration inputs.")
    activations: Literal["int8", "int16"] | None = Field(None, description="As --activations.")
    precision: dict[str, Precision] = Field(
        default_factory=dict,
        description="Of modules by patterns of their paths; the last that matches counts.",
    )
    needs: NeedsFile | None = Field(None, description="Choose the precision of modules by these.")
    data: Text | None = Field(None, description="Labelled .npz that accuracy is measured on.")
    seed: int = Field(0, ge=0, description="For random weights, training and inputs.")
    io: Literal["program", "int8", "uint8", "int16"] | None = Field(None, description="As --io.")
    feed: Literal["whole", "rows", "again"] | None = Field(None, description="As --feed.")
    budget: dict[str, BudgetFile] = Field(default_factory=dict, description="By board.")


class ProjectFile(Table):
    """The whole file."""

    project: DefaultsFile = DefaultsFile()
    models: dict[str, ModelFile] = Field(default_factory=dict)
    ops: OpsFile = OpsFile()
    executorch: ExecutorchFile = ExecutorchFile()
