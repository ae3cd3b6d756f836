"""The generated reference: pages made from the code that they describe."""

from __future__ import annotations

from collections.abc import Mapping

from pages import boards, c_headers, chips, commands, json_schemas, operators, python_api, toml


def pages() -> Mapping[str, str]:
    """Markdown by path below docs/."""
    made = {
        "commands": commands.page(),
        "toml": toml.page(),
        "json": json_schemas.page(),
        "python": python_api.page(),
        "c": c_headers.page(),
        "operators": operators.page(),
        "boards": boards.page(),
        "chips": chips.page(),
    }
    lines = [
        f"- [{text.splitlines()[0].removeprefix('# ')}]({name}.md)" for name, text in made.items()
    ]
    index = "\n".join(
        ["# Reference", "", "Made from the code with each build of this site.", "", *lines]
    )
    return {f"reference/{name}.md": text for name, text in {"index": index + "\n", **made}.items()}
