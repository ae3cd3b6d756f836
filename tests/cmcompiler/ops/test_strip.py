"""Strips are written into the columns of one image."""

from __future__ import annotations

from harness.run_graphs import bottlenecks

from cmcompiler.isa import Isa
from cmcompiler.ops.strip import JoinedStrips, Strip
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.strips import striped


def test_rows_of_a_strip_are_those_of_the_image() -> None:
    for full, _ in striped(feed_rows(bottlenecks(1))):
        (join,) = (node for node in full.nodes if isinstance(node.op, JoinedStrips))
        image = join.outputs[0]
        for node in full.nodes:
            if isinstance(node.op, Strip):
                assert node.op.title == node.op.part.title and node.op.macs == node.op.part.macs
                for call in node.op.row_calls(node.inputs, node.outputs, Isa.DSP):
                    words = dict(call.call.arguments)
                    assert words["output.row_stride"] == image.nbytes // image.shape[1]
