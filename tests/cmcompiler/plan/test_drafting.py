"""Plans within a budget."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from harness.commands import NETWORK
from harness.examples import Example
from harness.image_graphs import image_graphs
from harness.sequences import sequence_graph
from harness.tflite_truth import truth
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.importer.build import build_graph
from cmcompiler.importer.programs import parse
from cmcompiler.importer.pruning import pruned
from cmcompiler.importer.sequences import rows_of_steps
from cmcompiler.ir.graph import Graph
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.drafting import PRICE, OverBudget, make_draft
from cmcompiler.plan.options import MOST_SURCHARGE, PlanOptions
from cmcompiler.pte.reader import read_program

WHOLE = PlanOptions()


@pytest.fixture(scope="module")
def network() -> Graph:
    return build_graph(read_program(NETWORK.read_bytes()), "forward", "int8")


def _needed(graph: Graph, isa: Isa, options: PlanOptions) -> int:
    return make_draft(graph, isa, options).size + SLACK


@pytest.mark.parametrize("isa", Isa)
def test_more_memory_never_makes_it_slower(network: Graph, isa: Isa) -> None:
    least = _needed(network, isa, replace(WHOLE, surcharge=inf))
    most = _needed(network, isa, replace(WHOLE, streams=False))
    slower = inf
    for budget in (least, (least + most) // 2, most, 64 * most):
        draft = make_draft(network, isa, replace(WHOLE, budget=budget))
        assert draft.size + SLACK <= budget and draft.surcharge <= slower
        slower = draft.surcharge
    assert not draft.streams and not slower


@pytest.mark.parametrize("feed", ["whole", "rows", None])
def test_too_little_memory_is_refused_with_what_there_has_to_be(
    network: Graph, feed: str | None
) -> None:
    options = PlanOptions(feed=feed, surcharge=inf)
    least = _needed(network, Isa.SCALAR, options)
    with pytest.raises(OverBudget) as error:
        make_draft(network, Isa.SCALAR, replace(options, budget=least - 100))
    assert f"needs {least:,} bytes, 100 over the budget" in error.value.message


def test_the_hint_says_what_another_option_makes_of_it(network: Graph) -> None:
    options = PlanOptions(streams=False, budget=100)
    with pytest.raises(OverBudget) as error:
        make_draft(network, Isa.SCALAR, options)
    least = _needed(network, Isa.SCALAR, PlanOptions(surcharge=inf))
    assert error.value.hint == f"without --no-streams: {least:,} bytes"


@pytest.mark.parametrize(("io", "hint"), [("program", "--io int8 "), ("int8", "smaller tensors ")])
def test_the_hint_names_no_type_that_inputs_have(io: str, hint: str) -> None:
    graph = build_graph(read_program(NETWORK.read_bytes()), "forward", io)
    with pytest.raises(OverBudget) as error:
        make_draft(graph, Isa.SCALAR, PlanOptions(feed=None, budget=100))
    assert error.value.hint is not None and error.value.hint.startswith(hint)


@pytest.mark.parametrize("isa", Isa)
def test_no_plan_is_below_the_bound(network: Graph, isa: Isa) -> None:
    draft = make_draft(network, isa, replace(WHOLE, surcharge=inf))
    assert draft.lower_bound <= draft.size
    assert make_draft(network, isa, WHOLE).lower_bound <= draft.size


@pytest.mark.parametrize("isa", Isa)
def test_rows_from_outside_count_among_the_instructions(isa: Isa) -> None:
    """Those of a short sequence cost too much to be chosen unless they are requested."""
    graph = sequence_graph()
    graph = replace(graph, nodes=tuple(rows_of_steps(graph.nodes)))
    whole = make_draft(graph, isa, PlanOptions(streams=False))
    most = MOST_SURCHARGE * whole.effort + whole.surcharge
    chosen = make_draft(graph, isa, PlanOptions(feed=None))
    assert chosen.surcharge <= most and not chosen.is_fed
    fed = make_draft(graph, isa, PlanOptions(feed="rows", surcharge=inf))
    assert fed.is_fed and fed.surcharge > most


@settings(max_examples=15)
@given(image_graphs(), st.sampled_from(list(Isa)))
def test_rows_from_outside_are_no_slower_for_scratch_that_whole_tensors_could_have(
    example: Example, isa: Isa
) -> None:
    _check_rows_are_no_slower(example, isa)


@pytest.mark.long
@given(image_graphs(), st.sampled_from(list(Isa)))
def test_rows_from_outside_are_no_slower_in_many_graphs(example: Example, isa: Isa) -> None:
    _check_rows_are_no_slower(example, isa)


def _check_rows_are_no_slower(example: Example, isa: Isa) -> None:
    whole = make_draft(example.graph, isa, WHOLE)
    most = max(MOST_SURCHARGE * whole.effort, whole.surcharge)
    chosen = make_draft(example.graph, isa, PlanOptions(feed=None))
    is_larger = example.graph.inputs[0].tensor.nbytes >= chosen.size
    assert not chosen.is_fed or is_larger or chosen.surcharge <= most


def test_whole_tensors_too_have_scratch_for_few_instructions_more(network: Graph) -> None:
    least = make_draft(network, Isa.MVE, PlanOptions(streams=False))
    chosen = make_draft(network, Isa.MVE, WHOLE)
    most = MOST_SURCHARGE * least.effort
    assert not chosen.streams and least.surcharge > most >= chosen.surcharge


@pytest.mark.parametrize(("isa", "most"), [(Isa.DSP, 17 * 1024), (Isa.SCALAR, 15 * 1024)])
def test_bytes_have_to_be_worth_their_instructions_where_channels_are_left_out(
    isa: Isa, most: int
) -> None:
    """Half of this network is left out: 3 % of the whole program are 6 % of what is computed."""
    known = truth("vww")
    graph = pruned(build_graph(parse(known.path.read_bytes(), known.path.suffix), io="int8"))
    options = PlanOptions(feed="rows")
    chosen = make_draft(graph, isa, options)
    assert chosen.size + SLACK <= most
    budget = int(1.02 * (chosen.size + SLACK))
    other = make_draft(graph, isa, replace(options, budget=budget))
    more = (other.size + SLACK) / (chosen.size + SLACK)
    faster = (chosen.effort + chosen.surcharge) / (other.effort + other.surcharge)
    assert faster**PRICE <= 1.005 * more
