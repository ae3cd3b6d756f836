"""Names of ports in C: no function or macro of one is another's."""

from __future__ import annotations

import pytest

from cmcompiler.emit.port_names import c_name, port_symbols
from cmcompiler.ir.quantization import Quantization
from cmcompiler.plan.record import PortRecord


def port(name: str, rows: object = None, dtype: str = "int8") -> PortRecord:
    quantization = Quantization(0.5, 1, -128, 127)
    return PortRecord.model_construct(name=name, dtype=dtype, quantization=quantization, rows=rows)


@pytest.mark.parametrize(
    ("names", "symbols"),
    [
        (["input_0", "mask"], ["kws_0", "kws_mask"]),
        (["a", "a_quantize"], ["kws_a", "kws_a_quantize_2"]),
        (["a b", "a-b"], ["kws_a_b", "kws_a_b_2"]),
    ],
)
def test_symbols_differ_in_all_that_is_made_of_them(names: list[str], symbols: list[str]) -> None:
    assert port_symbols("kws", names, [port(name) for name in names]) == symbols


def test_a_name_that_ends_like_a_macro_of_rows_gets_a_number() -> None:
    records = [port("a", rows=object()), port("a_row")]
    assert port_symbols("kws", ["a", "a_row"], records) == ["kws_a", "kws_a_row_2"]
    assert port_symbols("kws", ["a", "a_row"], [port("a"), port("a_row")])[1] == "kws_a_row"


def test_any_text_is_part_of_a_name() -> None:
    assert c_name("späte/Stufe 2") == "sp_te_Stufe_2"
    assert c_name("…") == "unnamed"
