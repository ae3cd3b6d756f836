"""cmbuild package"""

from __future__ import annotations

from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.pipeline.request import PackageRequest

EPILOG = """\b
Examples:
  cmbuild package model.pte --target cortex-m33 --name kws -o kws
  cmbuild package mv2 --as zephyr --target cortex-m55 --output-dir mv2-package

The package holds the model's C source, its weights, a header with shapes and
scales, test vectors with the reference's outputs, and checksums; it needs no
Python. A CMake project adds it with add_subdirectory(FOLDER) and the library
NAME, a Zephyr application by cmbuild_add_model(app FOLDER). docs/packages.md
has an example.
"""


@click.command(
    "package",
    cls=Grouped,
    epilog=EPILOG,
    short_help="Package a model as C source for another build.",
)
@options.model
@options.of(
    PackageRequest,
    without=("reset", "intermediates"),
    samples={"help": "Number of test vectors; by default one."},
    inputs={"help": "Test vectors: .npy, .pt or image, once for each input; or one .npz."},
    output_dir={"flags": ("--output-dir", "-o"), "help": "Folder for the package."},
    feed={"help": "rows: take inputs and hand out images row by row; by default whole."},
)
@options.output
def command(as_json: bool, verbose: bool, **chosen: Any) -> int:
    """Export and plan MODEL for a core, and package what a build without Python needs."""
    from cmbuild.cli.session import session
    from cmbuild.pipeline.floats import excess
    from cmbuild.pipeline.naming import package_folder
    from cmbuild.pipeline.options import compose

    request = compose(PackageRequest, **chosen)
    folder = package_folder(request)
    with session(folder / "logs", json=as_json, verbose=verbose) as work:
        request = work.settled_package(request)
        package = work.pipeline.package(request)
        work.make([package], [folder])
        result = package.deliver(request.destination)
        work.show(result)
        if (error := excess(result.float, request.limits.max_float)) is not None:
            raise error
    return work.status
