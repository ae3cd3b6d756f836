"""cmbuild export"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cmbuild.cli import options

EPILOG = """\b
Examples:
  cmbuild export mv2 --target cortex-m55
  cmbuild export ds_cnn resnet8 --target cortex-m33 --output-dir programs
  cmbuild export net.py:make --calibration samples.npz --output-dir .

Exports are cached and shared: exporting the same model, target and options again is instant.
"""


@click.command("export", epilog=EPILOG, short_help="Quantise and lower models to .pte programs.")
@click.argument("models", nargs=-1, required=True, shell_complete=options.complete_models)
@click.option("--target", default="cortex-m55", show_default=True, metavar="CPU", help="The core.")
@options.export
@click.option(
    "--output-dir",
    "-o",
    type=options.OUTPUT_FOLDER,
    metavar="DIR",
    help="Folder for MODEL.pte, and MODEL.npz with samples.",
)
@options.output
def command(
    models: tuple[str, ...],
    target: str,
    output_dir: Path | None,
    as_json: bool,
    verbose: bool,
    **chosen: Any,
) -> int:
    """Export MODELS with upstream's Cortex-M quantizer and passes; several share one process."""
    from cmbuild.cache.folders import CacheFolder
    from cmbuild.cli.session import session
    from cmbuild.pipeline.request import ModelRequest

    requests = [ModelRequest(model=model, **chosen) for model in models]
    with session(CacheFolder.LOGS.path, json=as_json, verbose=verbose) as work:
        exports = [work.pipeline.export(request, target) for request in requests]
        work.perform(exports)
        work.show(*(export.deliver(output_dir) for export in exports))
    return work.status
