from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from harness.page import Page, assert_same_numbers
from harness.results import MV2

from cmbuild.cycles.results import FlashCycles
from cmbuild.report.html.page import page
from cmbuild.report.html.provenance import sources
from cmbuild.report.run import RunReport
from cmbuild.results import Instructions, MemoryUse

EVERY_NUMBER = (
    *("samples", "macs", "cycles.total", "cycles.milliseconds", "instructions.total"),
    *("memory.flash.total", "memory.flash.weights", "memory.ram.total", "memory.ram.reserved"),
    *("memory.ram.stack", "memory.arena.peak.bytes", "memory.regions.0.parts.0.bytes"),
    *("layers.1.cycles", "layers.1.macs", "layers.0.instructions", "layers.2.weights"),
    *("accuracy.reference", "fidelity.snr_db"),
)


def test_numbers_are_those_of_json() -> None:
    document = json.loads(RunReport(MV2).document(()).model_dump_json())
    parsed = Page(page(MV2))
    assert (parsed.open, parsed.addresses) == ([], [])
    assert set(EVERY_NUMBER) <= parsed.numbers.keys()
    assert_same_numbers(parsed.numbers, document)
    assert parsed.embedded == document


def test_text_of_models_stays_text() -> None:
    warned = replace(MV2, warnings=("</script><script>alert(1)</script>",))
    html = page(warned)
    parsed = Page(html)
    assert parsed.open == [] and parsed.embedded["warnings"] == list(warned.warnings)
    assert html.count("<script") == 1
    assert "</data>" in [text.strip() for text in parsed.texts], "the name of a layer"


def test_escapes_of_terminals_stay_out() -> None:
    html = page(replace(MV2, warnings=("a\x1b[31m \x9b1m \u202e\x00b",)))
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html) is None
    assert "a\ufffd[31m" in html


def test_reasons_and_sources_are_there() -> None:
    text = " ".join(" ".join(Page(page(MV2)).texts).split())
    assert all(source in text for source in sources(MV2).values())
    for words in (
        "gemm_s8 has no mve version; dsp is used",
        "converts at the program's boundary",
        "model of the Cortex-M55, zero wait states, not validated",
        "simulated count: one inference, never cycles",
        "cmbuild eval mv2 --sensitivity",
    ):
        assert words in text


def test_cycles_with_flash_have_a_tile() -> None:
    flash = FlashCycles(109_000_000, 120_000_000, 5, 904.2, 3)
    parsed = Page(page(replace(MV2, cycles=replace(MV2.cycles, with_flash=flash))))
    assert parsed.numbers["cycles.with_flash.total"] == "109000000"
    assert "With flash" in parsed.texts
    assert "With flash" not in Page(page(MV2)).texts


def test_each_layer_has_its_error_beside_the_float_model() -> None:
    first, *others = MV2.layers
    layers = (replace(first, error_steps=128.0, bound_steps=0.56), *others)
    fault = "fill at net.py:21 has 0.726 where the model has 0"
    wrong = replace(MV2.faithfulness, faithful=False, faults=(fault,))
    parsed = Page(page(replace(MV2, layers=layers, faithfulness=wrong)))
    assert parsed.numbers["layers.0.error_steps"] == "128.0"
    assert f"Not faithful: {fault}." in parsed.texts
    text = " ".join(" ".join(Page(page(MV2)).texts).split())
    assert "layer by layer: faithful: 1 of 1 layer." in text
    assert "Not faithful" not in text


def test_accuracy_of_layers_where_it_is_known() -> None:
    first, *others = MV2.layers
    parsed = Page(page(replace(MV2, layers=(replace(first, snr_db=31.5), *others))))
    assert parsed.numbers["layers.0.snr_db"] == "31.5"
    assert "SNR of a layer" in parsed.texts


@pytest.mark.parametrize(
    "changes",
    [
        {"cycles": None, "uncounted": "no simulator", "accuracy": None, "fidelity": None},
        {"instructions": Instructions(None, "not counted")},
        {"memory": MemoryUse(MV2.memory.flash, MV2.memory.ram), "best": ()},
    ],
    ids=["no cycles", "no counts", "no arena"],
)
def test_unknown_numbers_are_left_out(changes: dict[str, object]) -> None:
    html = page(replace(MV2, **changes))
    assert Page(html).open == []
    assert not re.search(r"\bNone\b|\bnan\b", " ".join(Page(html).texts))


def test_names_break_at_dots_and_underscores_only() -> None:
    html = page(MV2)
    assert "overflow-wrap: anywhere" not in html
    assert re.search(r"features\.<wbr>", html) or re.search(r"_<wbr>", html)
    assert html.count('<div class="wide"><table') == html.count("<table")
