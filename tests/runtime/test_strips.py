"""First operators in vertical strips give the bits of whole images, on every runtime."""

from __future__ import annotations

from dataclasses import replace

from harness.convolutions import Numbers
from harness.examples import Example
from harness.run_graphs import bottlenecks
from harness.runtime import Runtime, case_of, first_mistake
from harness.streamed import streamed

from cmcompiler.ir.op import FEED
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.strips import striped


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    graph = bottlenecks()
    example = Example(graph, (Numbers(1).int8(*graph.inputs[0].tensor.shape),))
    cases, examples = [], []
    for full, _ in list(striped(feed_rows(graph)))[::3]:
        changed = replace(example, graph=full)
        changed.__dict__["reference"] = example.reference
        plan, _ = streamed(changed, runtime.isa)
        assert sum(step.kernel == FEED for step in plan.steps) > 1
        cases.append(case_of(plan, changed))
        examples.append(changed)
    results = runtime.execute(cases)
    wrong = [first_mistake(*each) for each in zip(cases, examples, results, strict=True)]
    assert cases and not any(wrong), wrong
