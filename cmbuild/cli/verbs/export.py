"""cmbuild export"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.pipeline.request import ModelChoice, PackageRequest, Sampling

EPILOG = """\b
Examples:
  cmbuild export mv2 --target cortex-m55
  cmbuild export ds_cnn resnet8 --target cortex-m33 --output-dir programs
  cmbuild export net.py:make --calibration samples.npz --output-dir .

Exports are cached and shared: exporting the same model, target and options again is instant.
"""


@click.command(
    "export", cls=Grouped, epilog=EPILOG, short_help="Quantise and lower models to .pte programs."
)
@click.argument("models", nargs=-1, required=True, shell_complete=options.complete_models)
@options.of(PackageRequest, only=("target",))
@options.of(ModelChoice)
@options.of(
    Sampling,
    only=("output_dir",),
    output_dir={
        "flags": ("--output-dir", "-o"),
        "help": "Folder for MODEL.pte, and MODEL.npz with samples.",
    },
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
    from cmbuild import paths
    from cmbuild.cache.folders import CacheFolder
    from cmbuild.cli.session import session
    from cmbuild.outputs.delivery import Destination
    from cmbuild.pipeline.options import compose

    sources = [compose(ModelChoice, model=model, **chosen) for model in models]
    with session(CacheFolder.LOGS.path, json=as_json, verbose=verbose) as work:
        folder = paths.default_build()
        sources = [work.settled_source(source, target, folder) for source in sources]
        exports = [work.pipeline.export(source, target) for source in sources]
        work.make(exports)
        force = bool(chosen["force"])
        destination = None if output_dir is None else Destination(output_dir, force)
        for export, source in zip(exports, sources, strict=True):
            texts = source.texts
            if texts is not None and len(exports) > 1:
                texts = Destination(texts.folder / export.name, force)
            result = export.deliver(destination, texts)
            work.show(replace(result, mix=source.mix))
    return work.status
