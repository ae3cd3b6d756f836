"""Damages to text files of users, and to the files within entries of a shared cache."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence

from fuzz.bytes_mutations import damaged

TOKENS = (
    *(
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        ".",
        ",",
        '"',
        "'",
        '"""',
        "#",
        "\n",
        "\\",
        "\0",
        "\x1b",
    ),
    *("0x" + "f" * 40, "9" * 30, "9" * 5000, "-1", "0", "1e400", "inf", "nan", "true", "''", "[]"),
    *(
        "1979-05-27",
        "{}",
        "\ufeff",
        "\u202e",
        "é",
        "[" * 3000,
        "a." * 100 + "b = 1\n",
        "128K",
        "7%",
    ),
)

NAMES = (
    "a",
    "a/b",
    "plan.json",
    "x" * 300,
    "../up",
    "/root",
    "a//b",
    ".",
    "é",
    "a\\b",
    "model.c/x",
)


def changed_text(text: str, others: Sequence[str], chance: random.Random) -> bytes:
    """A text with one to four changes: lines, words and values moved, doubled, lost or replaced."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        text = chance.choice(_TEXTS)(text, chance.choice(others), chance)
    data = text.encode("utf-8", "surrogatepass")
    return damaged(data, chance) if data and chance.random() < 0.2 else data


def _insert(text: str, other: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(TOKENS) + text[place:]


def _replace_value(text: str, other: str, chance: random.Random) -> str:
    lines = text.split("\n")
    keyed = [index for index, line in enumerate(lines) if "=" in line]
    if not keyed:
        return text
    index = chance.choice(keyed)
    key = lines[index].partition("=")[0]
    values = [line.partition("=")[2] for line in other.split("\n") if "=" in line]
    lines[index] = f"{key}= {chance.choice((*TOKENS, *values))}"
    return "\n".join(lines)


def _move_line(text: str, other: str, chance: random.Random) -> str:
    lines = text.split("\n")
    source = chance.choice((lines, other.split("\n")))
    line = chance.choice(source)
    match chance.randrange(3):
        case 0:
            lines.insert(chance.randrange(len(lines) + 1), line)
        case 1:
            del lines[chance.randrange(len(lines))]
        case _:
            lines[chance.randrange(len(lines))] = line
    return "\n".join(lines)


def _lose(text: str, other: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + text[start + chance.randint(1, 40) :]


_TEXTS: tuple[Callable[[str, str, random.Random], str], ...] = (
    *(_insert, _replace_value, _replace_value, _move_line, _move_line, _lose),
)


def changed_entry(payload: bytes, chance: random.Random) -> bytes:
    """A packed folder whose files are changed, renamed, lost or added to; or its bytes damaged."""
    if chance.random() < 0.25:
        return damaged(payload, chance)
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        files = [(name, archive.read(name)) for name in archive.namelist()]
    for _ in range(chance.choice((1, 1, 2))):
        place = chance.randrange(len(files))
        name, content = files[place]
        match chance.randrange(6):
            case 0 if len(files) > 1:
                del files[place]
            case 1:
                files[place] = chance.choice(NAMES), content
            case 2:
                files.append((chance.choice(NAMES), content[:100]))
            case 3 if name.endswith(".json"):
                files[place] = name, _changed_json(content, chance)
            case _:
                files[place] = name, damaged(content, chance) if content else b"x"
    buffer = io.BytesIO()
    method = zipfile.ZIP_STORED if chance.random() < 0.05 else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(buffer, "w", method, compresslevel=1) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def _changed_json(content: bytes, chance: random.Random) -> bytes:
    """One value anywhere becomes another, or is lost."""
    try:
        document = json.loads(content)
    except ValueError:
        return damaged(content, chance)
    node = document
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return damaged(content, chance)
        key = chance.choice(keys)
        if isinstance(node[key], (dict, list)) and node[key] and chance.random() < 0.8:
            node = node[key]
            continue
        values = (None, -1, 0, 1 << 70, 0.5, "", "x", [], {}, True, [[]], "float32", "\x1b[31m")
        if chance.random() < 0.2:
            del node[key]
        else:
            node[key] = chance.choice(values)
        return json.dumps(document).encode()
