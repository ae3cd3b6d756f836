"""cmbuild schema"""

from __future__ import annotations

import click

from cmbuild.cli import options

EPILOG = """\b
Examples:
  cmbuild schema run
  cmbuild schema > cmbuild.schema.json

Without VERB: one object with the schema of each verb.
"""


@click.command("schema", epilog=EPILOG, short_help="Print the JSON Schema of what --json prints.")
@click.argument("verb", required=False)
@options.json
def command(verb: str | None, as_json: bool) -> int:
    """Print the JSON Schema of what `cmbuild VERB --json` prints; with or without --json."""
    import json

    from cmbuild.cli.schemas import documents, schema
    from cmbuild.errors import UnknownName

    known = documents()
    if verb is not None and verb not in known:
        raise UnknownName(kind="command with --json", name=verb, known=known)
    document = schema(verb) if verb else {name: schema(name) for name in known}
    click.echo(json.dumps(document, indent=2))
    return 0
