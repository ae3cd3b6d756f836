"""During which steps each tensor is alive, and which take over each other's memory."""

from __future__ import annotations

from harness.toy import Sum, constant, graph, node, tensor

from cmcompiler.plan.lifetimes import Lifetime, analyse
from cmcompiler.plan.storage import share


def test_a_tensor_lives_from_its_producer_to_its_last_reader() -> None:
    a, b, c, d = (tensor(name, 4) for name in "abcd")
    nodes = [
        node(Sum(), [a], [b]),
        node(Sum(), [b, constant("k", b"1234")], [c]),
        node(Sum(), [b, c], [d]),
    ]
    toy = graph(nodes, [a], [d])
    liveness = analyse(toy, share(toy).storage, [range(i, i + 1) for i in range(3)])
    lives = [(-1, 0), (0, 2), (1, 2), (2, 3)]
    expected = {t: Lifetime(*life) for t, life in zip((a, b, c, d), lives, strict=True)}
    assert liveness.lifetimes == expected
    assert set(liveness.alive(1)) == {b, c}
    assert len(liveness.blocks) == 4


def test_an_operator_in_place_takes_over_an_input_that_dies() -> None:
    a, b, c = tensor("a", 8), tensor("b", 4), tensor("c", 4)
    in_place = Sum(inplace=frozenset({0}))
    nodes = [node(in_place, [a], [b]), node(in_place, [b], [c])]
    toy = graph(nodes, [a], [c])
    liveness = analyse(toy, share(toy).storage, [range(1), range(1, 2)])
    assert len(liveness.blocks) == 1
    assert {liveness.start[t] for t in (a, b, c)} == {0}
    # An input that is read later keeps its memory.
    later = graph([*nodes, node(Sum(), [a, c], [tensor("d", 8)])], [a], [c])
    spans = [range(i, i + 1) for i in range(3)]
    assert len(analyse(later, share(later).storage, spans).blocks) == 3
