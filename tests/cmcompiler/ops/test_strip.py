"""Strips are written into the columns of one image, and read from some of wider ones."""

from __future__ import annotations

from harness.run_graphs import bottlenecks

from cmcompiler.ir.op import RowAddress
from cmcompiler.isa import Isa
from cmcompiler.ops.strip import JoinedStrips, Strip, StripPair, convolution_of
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.strips import every_strips


def test_rows_of_a_strip_are_those_of_the_image() -> None:
    for strips in every_strips(feed_rows(bottlenecks(1))):
        (join,) = (node for node in strips.striped.nodes if isinstance(node.op, JoinedStrips))
        image = join.outputs[0]
        for node in strips.striped.nodes:
            if isinstance(node.op, Strip):
                assert node.op.title == node.op.part.title and node.op.macs == node.op.part.macs
                assert convolution_of(node.op) is node.op.part
                for call in node.op.row_calls(node.inputs, node.outputs, Isa.DSP):
                    words = dict(call.call.arguments)
                    assert words["output.row_stride"] == image.nbytes // image.shape[1]


def test_a_sum_reads_rows_of_wider_images() -> None:
    *_, strips = every_strips(feed_rows(bottlenecks(3, sums=True)))
    for node in strips.striped.nodes:
        if isinstance(node.op, StripPair):
            assert node.op.exact and node.op.title == "add"
            (call,) = node.op.row_calls(node.inputs, node.outputs, Isa.DSP)
            assert set(call.reads) == set(node.inputs)
            moves = [word for _, word in call.call.arguments if isinstance(word, RowAddress)]
            assert {word.tensor for word in moves} == {*node.inputs, *node.outputs}
            assert sum(word.offset > 0 for word in moves) <= 1
