"""Which tensors share memory."""

from __future__ import annotations

from harness.toy import Same, Sum, Tail, graph, node, tensor

from cmcompiler.plan.storage import Storage, share


def test_views_lie_in_what_they_view() -> None:
    whole, same, tail, end = map(tensor, "wste", (8, 8, 6, 4))
    result = tensor("r", 4)
    nodes = [
        node(Same(), [whole], [same]),
        node(Tail(offset=2), [same], [tail]),
        node(Tail(offset=2), [tail], [end]),
        node(Sum(), [end], [result]),
    ]
    sharing = share(graph(nodes, [whole], [result]))
    assert sharing.storage[same] == Storage(whole)
    assert sharing.storage[tail] == Storage(whole, 2)
    assert sharing.storage[end] == Storage(whole, 4)
    assert sharing.storage[result] == Storage(result)
    assert sharing.settled == frozenset()
