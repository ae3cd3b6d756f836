"""The name of a package's status OK: NAME_OK, unless the C library has a macro of that name."""

from __future__ import annotations

_MACROS = frozenset({"EX_OK", "F_OK", "MM_OK", "R_OK", "W_OK", "X_OK"})
"""Macros of unistd.h, sysexits.h and fmtmsg.h: programs include them before or after a package."""


def ok_status(macro: str) -> str:
    """The name of the status OK in every file of a package with this prefix."""
    return f"{macro}_STATUS_OK" if f"{macro}_OK" in _MACROS else f"{macro}_OK"


def ok_enumerators(macro: str) -> str:
    """The first lines of `enum NAME_status`.

    Where the name is another one, NAME_OK means the same as long as it is not the macro.
    """
    name, plain = ok_status(macro), f"{macro}_OK"
    if name == plain:
        return f"    {plain},"
    return (
        f"    {name}, /* {plain} may be a macro of the C library */\n"
        f"#ifndef {plain}\n    {plain} = {name},\n#endif"
    )
