"""What a header says about rows is what the device takes and gives."""

from __future__ import annotations

import pytest
from harness.examples import Example
from harness.fed_graphs import fed_graphs
from harness.graph_packages import graph_package, native_program
from harness.headers import differences
from harness.packages import run
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.emit.interface import PackageInterface
from cmcompiler.emit.recording import record
from cmcompiler.errors import Unsupported
from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.plan.record import PortRecord

# Brings the rows of every input as the header counts them, to whichever the run waits for, and
# gathers those of every output.
_MAIN = """
#include <stdio.h>
#include <string.h>
{includes}
static uint8_t gathered[3][4 * 20 * 20 * 8];
static uint32_t taken[3], bytes[3];
static void take(void *user, uint32_t output, uint32_t row, const void *numbers)
{{
    int *wrong = user;
    *wrong += row != taken[output]++;
    memcpy(gathered[output] + row * bytes[output], numbers, bytes[output]);
}}
{tests}
int main(void)
{{
    int wrong = 0;
    {calls}
    printf("%d wrong\\n", wrong);
    return wrong;
}}
"""
_TEST = """
static {macro}_ARENA({name}_arena);
static int test_{name}(void)
{{
    struct {name} model;
    int wrong = 0;
    uint32_t brought[3] = {{0}}, tries = 0;
    if ({name}_init(&model, {name}_arena, sizeof {name}_arena) != {macro}_OK)
        return 1;
    {setting}
    enum {name}_status status = {macro}_WAITING;
    while (status == {macro}_WAITING || status == {macro}_OTHER_INPUT) {{
        {pushes}
        if (++tries > 1000)
            return 1;
    }}
    {checks}
    wrong += status != {macro}_OK || {name}_vectors_check(&model, 0) >= 0;
    return wrong;
}}
"""
_PUSH = """
        status = brought[{i}] == {port}_ROWS ? {macro}_OTHER_INPUT :
            {name}_push_rows_{i}(&model, (const {ctype} *){name}_vectors_input({i}, 0)
                + brought[{i}] * {port}_ROW_COUNT, 1);
        brought[{i}] += status != {macro}_OTHER_INPUT;
        if (status != {macro}_WAITING && status != {macro}_OTHER_INPUT)
            break;
"""
_OUTPUT = """
    wrong += taken[{i}] != {port}_ROWS;
    wrong += memcmp(gathered[{i}], {name}_vectors_output({i}, 0), {port}_BYTES) != 0;
"""


def differing_ports(example: Example) -> tuple[int, list[str]]:
    """How many ports a fed plan has, and what its header says that the plan does not."""
    try:
        plan = make_plan(example.graph, Isa.SCALAR, PlanOptions(feed="rows"))
    except Unsupported:
        return 0, []
    wrong = differences(plan, PackageInterface.of(record(plan, "m", "")))
    return len(plan.inputs) + len(plan.outputs), [f"{example}: {each}" for each in wrong]


@settings(max_examples=40)
@given(example=fed_graphs())
def test_rows_are_those_of_the_plan(example: Example) -> None:
    assert differing_ports(example)[1] == []


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_rows_of_ten_thousand_ports_are_those_of_the_plan() -> None:
    ports = 0

    @settings(max_examples=3200)
    @given(example=fed_graphs())
    def check(example: Example) -> None:
        nonlocal ports
        count, differing = differing_ports(example)
        ports += count
        assert differing == []

    check()
    assert ports >= 10_000, ports


@settings(max_examples=2)
@given(examples=st.lists(fed_graphs(), min_size=8, max_size=8))
def test_a_program_that_follows_the_header_gets_the_outputs(
    examples: list[Example], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fed")
    models = []
    for index, example in enumerate(examples):
        try:
            models.append(graph_package(example.graph, [example.inputs], f"m{index}", folder))
        except Unsupported:
            continue
    names = [model.name for model in models]
    tests = [_test(model.name, model.record.inputs, model.record.outputs) for model in models]
    main = _MAIN.format(
        includes="\n".join(f'#include "{name}_vectors.h"' for name in names),
        tests="\n".join(tests),
        calls="\n    ".join(f"wrong += test_{name}();" for name in names),
    )
    assert run(native_program(models, main, folder)) == "0 wrong\n"


def _test(name: str, inputs: tuple[PortRecord, ...], outputs: tuple[PortRecord, ...]) -> str:
    macro = name.upper()
    setting, checks, pushes = [], [], []
    for i, port in enumerate(inputs):
        words = {"i": i, "port": f"{macro}_INPUT_{i}", "name": name, "macro": macro}
        ctype = "float" if port.dtype == "float32" else "int8_t"
        if port.feed == "rows":
            pushes.append(_PUSH.format(ctype=ctype, **words))
        else:
            whole = "memcpy({name}_input_{i}(&model), {name}_vectors_input({i}, 0), {port}_BYTES);"
            setting.append(whole.format(**words))
    drained = [i for i, port in enumerate(outputs) if port.feed == "rows"]
    if drained:
        setting.append(f"{name}_on_rows(&model, take, &wrong);")
    for i in drained:
        port = f"{macro}_OUTPUT_{i}"
        setting.append(f"taken[{i}] = 0, bytes[{i}] = {port}_BYTES / {port}_ROWS;")
        checks.append(_OUTPUT.format(i=i, port=port, name=name))
    return _TEST.format(
        name=name,
        macro=macro,
        setting="\n    ".join(setting),
        pushes="\n        ".join(pushes),
        checks="\n    ".join(checks),
    )
