"""What tiles cost: the more, the narrower they are and the fewer rows they make at once."""

from __future__ import annotations

import pytest
from harness.run_graphs import bottlenecks

from cmcompiler.isa import Isa
from cmcompiler.plan.runs.chains import chains
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.runs.tiling import Keeping
from cmcompiler.plan.streams.costs.runs import tiling_cost


@pytest.mark.parametrize("isa", list(Isa))
def test_narrow_tiles_and_small_bands_cost_more(isa: Isa) -> None:
    chain = next(chain for chain in chains(bottlenecks()) if len(chain.parts) == 3)

    def cost(band: int, columns: int, keeping: Keeping = Keeping.NOTHING) -> float:
        run = chain.in_tiles(band, columns, keeping)
        assert isinstance(run.op, Run)
        (rows,) = run.op.row_calls(run.inputs, run.outputs, isa)
        calls = [tiled.call for tiled in rows.tiled if tiled.part is not None]
        return tiling_cost(run.op, calls, isa)

    assert cost(2, 12) < cost(2, 6) < cost(2, 3)
    assert cost(4, 6) < cost(2, 6) < cost(1, 6)
    # What is kept is not computed again; moving it costs less than a row of many products.
    if isa is not Isa.MVE:
        assert cost(1, 6, Keeping.ROWS) < cost(1, 6)
