"""The status OK gives way to macros of the C library."""

from __future__ import annotations

from cmcompiler.emit.status import ok_enumerators, ok_status


def test_ok_is_plain_unless_the_library_has_it() -> None:
    assert ok_status("KWS") == "KWS_OK"
    assert ok_enumerators("KWS") == "    KWS_OK,"


def test_a_macro_of_the_library_leaves_another_name() -> None:
    assert ok_status("F") == "F_STATUS_OK"
    text = ok_enumerators("F")
    assert text.startswith("    F_STATUS_OK,")
    assert "#ifndef F_OK\n    F_OK = F_STATUS_OK,\n#endif" in text
