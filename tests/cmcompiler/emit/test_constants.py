"""Constants as assembly and as an array."""

from __future__ import annotations

import re

from cmcompiler.emit.constants import WEIGHTS_SECTION, assembly, byte_array


def test_assembly_includes_the_file_in_its_section() -> None:
    text = assembly("kws", "kws_weights.bin")
    assert WEIGHTS_SECTION in text
    assert '.incbin "kws_weights.bin"' in text
    assert "kws_weights:" in text.splitlines()


def test_an_array_has_every_byte_in_order() -> None:
    content = bytes(range(256)) * 2
    text = byte_array("kws_weights", content)
    body = text[text.index("= {") :]
    assert bytes(map(int, re.findall(r"\d+", body))) == content
    assert "kws_weights[512]" in text
