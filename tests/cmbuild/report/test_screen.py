from __future__ import annotations

import math
from dataclasses import replace

import pytest
from harness.results import MV2, fidelity

from cmbuild.accuracy import Faithfulness, FloatCall, FloatUse
from cmbuild.cycles.results import FlashCycles, SlowestCycles
from cmbuild.report import text
from cmbuild.report.lines import Lines
from cmbuild.report.screen import screen
from cmbuild.results import Instructions, OpCount, Verification, WeightsResult

MV2_SCREEN = """\
  ✓ verified: 2 of 2 samples bit-exact; faithful: 1 of 1 layer
  accuracy  float 98.5 %, int8 98.0 %, on the device 98.0 % (200 samples)
  ! random weights: bit-exact but meaningless outputs
            pretrained weights could not be downloaded: no network; --weights
            FILE loads a state dict

  top-3     359 0.494   904 0.367   21 0.332
  input     x float32 1×3×224×224, NHWC in memory (int8 inside: scale 0.01862,
            zero point -3)
  output    y float32 1×1000
  work      300.8 M MACs in 141.2 M instructions, 2.13 MAC/instruction
            (simulated count, not cycles)
  time      ≈ 2.71 s at 32 MHz (86.8 M cycles, model of the Cortex-M55, zero
            wait states, not validated)
  flash     3.49 MB weights + 27.9 KB code, of 8 MB
  RAM       1.44 MB arena + 612 B static + 16 KB stack (1.9 KB used), of 4 MB
  peak      1.44 MB at conv2d 1×1, step 3 of 3: tensors 1.44 MB, scratch 4.3 KB
  arena     ▄▄█

  op                           n   instructions   share   MAC/instr
  conv2d 1×1                   2         88.1 M    70%         3.1   ███████▋
  depthwise 3×3                1         38.2 M    30%         0.5   ███▍
  quantize                     1        420.0 k     0%

  artefacts build/mv2/corstone300/"""


def test_what_a_program_computes_with_is_told() -> None:
    port = replace(MV2.inputs[0], activations="int16")
    mixed, short = replace(MV2, inputs=(port, *MV2.inputs)), replace(MV2, inputs=(port,))
    assert "(int16 inside:" in screen(short).plain
    assert "float 98.5 %, int16 98.0 %" in screen(short).plain
    assert "int8 and int16 98.0 %" in " ".join(screen(mixed).plain.split())


def test_screen_says_all_in_80_columns() -> None:
    shown = screen(MV2).plain
    assert "\n".join(line.rstrip() for line in shown.splitlines()) == MV2_SCREEN
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("columns", [40, 50, 60, 70, 80, 100, 200])
def test_the_screen_follows_the_width(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert MV2.cycles is not None
    title = "transpose_conv2d 16×16 of a very long name"
    ops = (replace(MV2.instructions.per_op[0], title=title), *MV2.instructions.per_op[1:])
    for unit in ("instructions", "cycles"):
        run = replace(MV2, instructions=replace(MV2.instructions, per_op=ops, unit=unit))
        shown = screen(run).plain
        assert max(map(len, shown.splitlines())) <= columns
        assert (title in shown) == (columns >= 100)


@pytest.mark.parametrize(
    ("heights", "shown"),
    [((), ""), ((0, 0), "  "), ((1, 8, 4), "▁█▄"), ((1, 2, 8, 4, 4, 1), "▂█▄"), ((5,) * 9, "███")],
)
def test_a_profile_is_as_wide_as_its_place(heights: tuple[int, ...], shown: str) -> None:
    assert text.profile(heights, 3) == shown


def test_time_says_how_far_it_can_be_trusted() -> None:
    def line(**changes: object) -> str:
        cycles = replace(MV2.cycles, **changes) if changes else None
        shown = screen(replace(MV2, cycles=cycles, uncounted="no compiler")).plain
        actual = shown[shown.index("  time      ") + 12 : shown.index("\n  flash")]
        return " ".join(actual.split())

    assert line() == "not counted: no compiler"
    assert line(error_percent=3, milliseconds=0.5, total=16_000) == (
        "≈ 0.5 ms at 32 MHz (16,000 cycles, model of the Cortex-M55, zero wait states, ±3 %)"
    )
    assert line(milliseconds=None, clock_hz=None).startswith("≈ 86.8 M cycles (model of")
    assert line(unknown=("frob r0",)).endswith("not validated, without frob r0)")
    several = tuple(f"frob r{n}" for n in range(5))
    assert line(unknown=several).endswith("without frob r0, frob r1, frob r2 and 2 more)")


@pytest.mark.parametrize(
    ("most", "span"), [(3500.0, "2.71 to 3.5 s"), (2713.0, "2.71 to 2.71 s"), (700.0, "")]
)
def test_wait_states_widen_the_time(most: float, span: str) -> None:
    least = 2712.5 if span else 12.0
    slowest = SlowestCycles(120_000_000, most, "each load waits 5 cycles")
    cycles = replace(MV2.cycles, milliseconds=least, slowest=slowest)
    shown = " ".join(screen(replace(MV2, cycles=cycles)).plain.split())
    assert f"≈ {span or '12 to 700 ms'} at 32 MHz (86.8 M to 120 M cycles, model" in shown
    assert "not validated; the most if each load waits 5 cycles)" in shown


def test_cycles_with_flash_stand_beside_those_without() -> None:
    flash = FlashCycles(109_000_000, 120_000_000, 5, 904.2, 3)
    modelled = replace(MV2.cycles, with_flash=flash)
    shown = " ".join(screen(replace(MV2, cycles=modelled)).plain.split())
    assert "≈ 904 ms at 120 MHz (109 M cycles with flash, 5 wait states, +26 %; ±3 %)" in shown
    unknown = replace(MV2.cycles, without_flash="cc not found")
    shown = " ".join(screen(replace(MV2, cycles=unknown)).plain.split())
    assert "with flash: not counted: cc not found" in shown


def test_mismatch_cannot_be_overlooked() -> None:
    check = Verification("exact", samples=3, failed=1, mismatches=17, first="add #7, element 3")
    lines = screen(replace(MV2, verification=check)).plain.splitlines()
    assert (
        lines[0] == "  ✗ NOT verified: 1 of 3 samples (17 elements) differ from the int8 reference"
    )
    assert lines[1] == "    first op that differs: add #7, element 3"


def test_tolerance_and_trained_weights_are_named() -> None:
    check = Verification("tolerance", samples=1, failed=0, mismatches=0)
    run = replace(MV2, verification=check, weights=WeightsResult("pretrained", "mobilenet_v2.pth"))
    lines = screen(run).plain.splitlines()
    assert lines[0] == "  ✓ verified: 1 of 1 sample within tolerance; faithful: 1 of 1 layer"
    assert lines[2] == "  weights   pretrained: mobilenet_v2.pth"


def test_layers_without_a_counterpart_are_counted_and_named() -> None:
    some = replace(MV2.faithfulness, unpaired=("aten::add.out #12", "cortex_m::pad.out #3"))
    shown = " ".join(screen(replace(MV2, faithfulness=some)).plain.split())
    assert "faithful: 1 of 3 layers checked, 2 without a counterpart: add, pad accuracy" in shown
    none = Faithfulness(faithful=None, reason="a program alone has no float model")
    shown = " ".join(screen(replace(MV2, faithfulness=none)).plain.split())
    assert "2 of 2 samples bit-exact; layers not compared: a program alone has no float" in shown


def test_a_layer_that_is_not_the_models_cannot_be_overlooked() -> None:
    faults = tuple(f"fill at net.py:{line} has 0.726 where the model has 0" for line in range(5))
    wrong = replace(MV2.faithfulness, faithful=False, faults=faults)
    lines = screen(replace(MV2, faithfulness=wrong)).plain.splitlines()
    assert lines[0] == "  ✓ verified: 2 of 2 samples bit-exact"
    assert lines[1] == f"  ✗ not faithful: {faults[0]}"
    assert lines[4] == "    and 2 more layers: --json has them all"


def test_without_labels_the_outputs_are_compared_with_those_of_the_float_model() -> None:
    lines = screen(replace(MV2, accuracy=None)).plain.splitlines()
    assert lines[1] == ("  accuracy  SNR 41.2 dB, largest output agrees on 198 of 200")
    same = fidelity(math.inf, agreement=1.0, samples=3)
    lines = screen(replace(MV2, accuracy=None, fidelity=same)).plain.splitlines()
    assert lines[1] == ("  accuracy  no error, largest output agrees on 3 of 3")
    lines = screen(replace(MV2, accuracy=None, fidelity=None)).plain.splitlines()
    assert not any(line.startswith("  accuracy") for line in lines)


def test_warnings_follow_the_verdict() -> None:
    run = replace(MV2, weights=WeightsResult("given", "as given"), warnings=("SNR 3 dB", "x " * 60))
    lines = screen(run).plain.splitlines()
    assert lines[2:4] == ["  weights   given: as given", "  ! SNR 3 dB"]
    assert [line[:5] for line in lines[4:6]] == ["  ! x", "    x"]
    assert max(map(len, lines)) <= 80


def test_operators_in_float_are_named_with_line_reason_and_remedy() -> None:
    calls = [
        FloatCall(name=f"op {n}", file="/a/net.py", line=n, reason="no rule", hint="relu")
        for n in range(7)
    ]
    use = FloatUse(share=0.966, estimated=False, operators=tuple(calls))
    lines = screen(replace(MV2, float=use)).plain.splitlines()
    at = lines.index("  ! 7 operators in float: 97 % of instructions")
    assert lines[at + 1] == "      op 0  net.py:0  no rule"
    assert lines[at + 5 : at + 8] == [
        "      op 4  net.py:4  no rule",
        "      and 2 more",
        "      try: relu",
    ]
    unknown = FloatCall(name="aten::x.out", file=None, line=None, reason="no rule", hint="relu")
    use = FloatUse(share=1.0, estimated=True, operators=(unknown,))
    lines = screen(replace(MV2, float=use, has_fpu=False)).plain.splitlines()
    told = "  ! 1 operator in float: 100 % of instructions, estimated; the core has no FPU,"
    at = lines.index(told)
    assert lines[at + 2] == "      aten::x.out  no rule"


def test_operators_that_executorch_lacks_are_named() -> None:
    lines = screen(replace(MV2, lacking=("mine::a", "mine::b"))).plain.splitlines()
    at = lines.index("  portable  no: ExecuTorch's runtime lacks mine::a, mine::b; see --portable")
    assert at < lines.index("")


def test_nothing_compared_is_not_verified() -> None:
    assert not Verification("exact", samples=0, failed=0, mismatches=0).verified


def test_one_of_several_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    Lines(verbose=False).close([MV2], None)
    assert capsys.readouterr().out == f"{screen(MV2).plain}\n"
    Lines(verbose=False).close([MV2, MV2], None)
    assert capsys.readouterr().out == 2 * f"  mv2 on corstone300\n{screen(MV2).plain}\n"


def test_no_ratio_without_macs() -> None:
    shown = screen(replace(MV2, macs=0)).plain
    assert "  work      141.2 M instructions (simulated count, not cycles)\n" in shown


def test_launcher_that_cannot_count() -> None:
    shown = screen(replace(MV2, instructions=Instructions(None, "not counted here"))).plain
    assert "  work      300.8 M MACs; not counted here\n" in shown
    assert "instructions" not in shown


def test_many_kinds_of_op_end_in_others() -> None:
    ops = tuple(OpCount(f"op {n}", "", "k", 1000 - n, 0) for n in range(20))
    table = screen(replace(MV2, instructions=Instructions(20_000, "counted", ops))).plain
    assert "  others                      13" in table
    # The steps, empty lines and a prompt are on the same screen.
    assert len(table.splitlines()) <= text.SCREEN - 10
    assert "op 6 " in table
    assert "op 7 " not in table


def test_a_bar_fills_its_share() -> None:
    assert [text.bar(share, 4) for share in (0, 0.5, 1, 7)] == ["", "██", "████", "████"]


def test_an_op_that_took_no_tick_of_the_clock_has_no_ratio() -> None:
    ops = (OpCount("conv2d", "x", "conv", 500, 1000), OpCount("add", "y", "add", 0, 10))
    shown = screen(replace(MV2, instructions=Instructions(500, "counted", ops))).plain
    (row,) = (line for line in shown.splitlines() if line.startswith("  add "))
    assert row.split() == ["add", "1", "0", "0%"]


def test_a_board_s_cycles_stand_beside_the_model_s() -> None:
    assert MV2.cycles is not None
    counted = replace(
        MV2.instructions, unit="cycles", total=90_000_000, per_op=MV2.instructions.per_op[:1]
    )
    incomplete = replace(MV2.cycles, unknown=("frob r0",))
    shown = screen(replace(MV2, instructions=counted, cycles=incomplete)).plain
    assert "not validated, without frob r0)" in " ".join(shown.split())
    assert "time      2.81 s at 32 MHz (90 M cycles measured; 86.8 M, -3.6 %, by the" in shown
    assert "  op                           n    measured       model  difference" in shown
    assert "  conv2d 1×1                   1      88.1 M      60.0 M     -31.9 %" in shown


@pytest.mark.parametrize("columns", [40, 59])
def test_layers_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = screen(MV2, by_layer=True).plain
    assert max(map(len, shown.splitlines())) <= columns
    assert "share" in shown
