"""Plain words for the plan's own."""

from __future__ import annotations

from cmbuild.report.words import layout, plain


def test_private_words_have_plain_ones() -> None:
    assert plain("stream") == "turns between rows"
    assert plain("conv2d") == "conv2d"
    assert layout("channels-last") == "NHWC in memory"
    assert layout("contiguous") == "contiguous"
