"""cmbuild package"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cmbuild.cli import options

EPILOG = """\b
Examples:
  cmbuild package mv2 --as zephyr --target cortex-m55 --output-dir mv2-package
  cmbuild package model.pte --as source --target cortex-m33 --io int8 -o kws

The package holds the model's C source, its weights, a header with shapes and
scales, test vectors with the outputs that the reference gives, and checksums.
A Zephyr application takes it by cmbuild_add_model(app FOLDER), without Python;
with --as source any other CMake project by add_subdirectory(FOLDER).
"""


@click.command(
    "package", epilog=EPILOG, short_help="Package a model as C source for another build."
)
@options.model
@click.option(
    "--as",
    "form",
    type=click.Choice(["zephyr", "source"]),
    default="zephyr",
    show_default=True,
    help="The build it is for; source: any build, with the runtime's C files.",
)
@click.option("--target", default="cortex-m55", show_default=True, metavar="CPU", help="The core.")
@click.option(
    "--isa", metavar="ISA", help="Use a lower one than the core's best: scalar, dsp or mve."
)
@options.export
@options.method
@options.io
@click.option(
    "--samples",
    "-n",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of test vectors; by default one.",
)
@click.option(
    "--input",
    "inputs",
    type=options.FILE,
    multiple=True,
    metavar="FILE",
    help="Test vectors: .npy, .pt or image, once for each input; or one .npz.",
)
@click.option(
    "--output-dir",
    "-o",
    type=options.OUTPUT_FOLDER,
    metavar="DIR",
    help="Folder for the package.",
)
@options.build_dir
@options.output
def command(as_json: bool, verbose: bool, inputs: tuple[Path, ...], **chosen: Any) -> int:
    """Export and plan MODEL for a core, and pack what a build needs that has no Python."""
    from cmbuild.cli.session import session
    from cmbuild.pipeline.pipeline import package_folder
    from cmbuild.pipeline.request import PackageRequest

    request = PackageRequest(inputs=inputs, **chosen)
    folder = package_folder(request)
    with session(folder / "logs", json=as_json, verbose=verbose) as work:
        package = work.pipeline.package(request)
        work.perform([package], [folder])
        work.show(package.deliver(request.output_dir))
    return work.status
