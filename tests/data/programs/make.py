"""Makes the programs in this folder: `python tests/data/programs/make.py` with cmbuild[export].

The export flow makes most of them; what it does not make is edited into one of its programs with
ExecuTorch's own serializer. The programs are kept in the tree, so that tests need no ExecuTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir._serialize._flatbuffer_program import _program_to_flatbuffer
from executorch.exir._serialize._program import (
    PTEFile,
    deserialize_pte_binary,
    serialize_pte_binary,
)
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.exir.schema import (
    ExtraTensorInfo,
    FreeCall,
    Instruction,
    NamedData,
    Program,
    TensorDataLocation,
)
from torch import Tensor, nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.target import Target

FOLDER = Path(__file__).parent
MAKERS: dict[str, Callable[[], bytes]] = {}


def program(maker: Callable[[], bytes]) -> Callable[[], bytes]:
    MAKERS[maker.__name__] = maker
    return maker


def plain(module: nn.Module, *inputs: Any, dynamic: Any = None, **config: Any) -> bytes:
    """A module exported as it is, in ATen operators."""
    exported = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
    return bytes(to_edge(exported).to_executorch(ExecutorchBackendConfig(**config)).buffer)


def quantized(module: nn.Module, *inputs: Tensor) -> bytes:
    """A module quantised and lowered to cortex_m operators for the Cortex-M55."""
    result = quantize(module.eval(), inputs, [inputs])
    return lower(result, Target.parse("cortex-m55"))


def edited(data: bytes, edit: Callable[[Program], None]) -> bytes:
    file = deserialize_pte_binary(data)
    edit(file.program)
    return bytes(serialize_pte_binary(PTEFile(file.program)))


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.linear = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        pooled = torch.nn.functional.adaptive_avg_pool2d(self.conv(x).relu(), 1)
        return self.linear(pooled.flatten(1))


@program
def network() -> bytes:
    """Channels-last tensors, scratch arguments, constants in a segment, and a view that has no
    instruction: linear reads [1, 4] where the pool wrote [1, 4, 1, 1]."""
    x = torch.randn(1, 3, 6, 5).to(memory_format=torch.channels_last)
    return quantized(Network(), x)


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 2, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).relu())


@program
def image() -> bytes:
    """An output that is an image."""
    return quantized(Image(), torch.randn(1, 3, 9, 5).to(memory_format=torch.channels_last))


@program
def inline_constants() -> bytes:
    """`network` without an extended header: its constants lie in the FlatBuffer."""
    return bytes(_program_to_flatbuffer(deserialize_pte_binary(network()).program).data)


class Elementwise(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x + y, torch.minimum(x, y)


@program
def two_inputs() -> bytes:
    """Two inputs of two quantised operators, two outputs."""
    return quantized(Elementwise(), torch.randn(2, 3), torch.randn(2, 3))


class Outputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Buffer(torch.arange(6, dtype=torch.int32).reshape(2, 3))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Any, ...]:
        moved = y.permute(1, 0).contiguous()
        return x, self.table, y.reshape(3, 2), moved, moved, 7


@program
def outputs() -> bytes:
    """Outputs that are an input, a constant, a view of an input, computed, the same again, and a
    number."""
    return plain(Outputs(), torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.int8))


class Scalars(nn.Module):
    def forward(self, n: int, x: Tensor, f: float, b: bool) -> Tensor:
        return x.reshape(1).clone()


@program
def scalars() -> bytes:
    """Inputs that are numbers, baked into the program, around a tensor without dimensions."""
    return plain(Scalars(), 3, torch.tensor(1.5), 2.5, True)


class Empty(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x.permute(1, 0).contiguous(), y.reshape(2, 2).permute(1, 0).contiguous()


@program
def empty_tensor() -> bytes:
    """A tensor of no elements beside one of four."""
    return plain(Empty(), torch.zeros(0, 3), torch.zeros(4))


class Permuted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.permute(1, 0).contiguous()


@program
def two_methods() -> bytes:
    """Methods `forward` and `backward`."""
    exported = torch.export.export(Permuted(), (torch.zeros(2, 3),))
    reshaped = torch.export.export(Scalars(), (3, torch.tensor(1.5), 2.5, True))
    methods = {"forward": exported, "backward": reshaped}
    return bytes(to_edge(methods).to_executorch().buffer)


@program
def unknown_operators() -> bytes:
    """Operators that no kernel computes, one of them twice."""

    class Unknown(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            best = nn.functional.max_pool3d(nn.functional.max_pool3d(x, 1), (2, 1, 1))
            return torch.cdist(best, best)

    return plain(Unknown(), torch.zeros(1, 2, 3, 4))


@program
def own_operator() -> bytes:
    """An operator of a user's own: workshop::scale(x, 2.5)."""
    library = torch.library.Library("workshop", "DEF")
    library.define("scale(Tensor x, float factor) -> Tensor")
    library.define("scale.out(Tensor x, float factor, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("scale", lambda x, factor: x * factor, "CompositeExplicitAutograd")

    class Scale(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.ops.workshop.scale(x, 2.5)

    return plain(Scale(), torch.zeros(2, 3))


@program
def control_flow() -> bytes:
    """torch.cond: a jump, and moves into its result."""

    class Cond(nn.Module):
        def forward(self, flag: Tensor, x: Tensor) -> Tensor:
            return torch.cond(
                flag, lambda x: x.clone(), lambda x: x.permute(1, 0).contiguous(), (x,)
            )

    return plain(Cond(), torch.tensor(True), torch.zeros(2, 2))


@program
def branches() -> bytes:
    """A branch in a branch, ways that result in two tensors, in what came in or in a view, and a
    condition that is computed."""

    class Branches(nn.Module):
        def forward(self, first: Tensor, second: Tensor, x: Tensor) -> tuple[Tensor, ...]:
            y = x * 3

            def inner(y: Tensor) -> Any:
                return torch.cond(
                    second, lambda y: (y + 1, y.clone()), lambda y: (y * 2, y - 1), (y,)
                )

            a, b = torch.cond(first, inner, lambda y: (y * 5, y + y), (y,))
            c = torch.cond(a.sum() > 0, lambda a, y: a.clone(), lambda a, y: y.clone(), (a, y))
            d = torch.cond(second, lambda b: b.view(-1) * 7, lambda b: b.reshape(-1).clone(), (b,))
            return a.view(-1) + b.view(-1), c + y, d

    flags = torch.tensor(True), torch.tensor(False)
    return plain(Branches(), *flags, torch.zeros(2, 4))


@program
def dynamic_shape() -> bytes:
    """A batch of 1 to 4."""
    batch = torch.export.Dim("batch", min=1, max=4)
    return plain(Permuted(), torch.zeros(2, 3), dynamic=({0: batch},))


@program
def data_dependent_shape() -> bytes:
    """The places of what is not zero, as many as there are."""

    class Places(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.nonzero(x)

    return plain(Places(), torch.zeros(2, 3))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state = nn.Buffer(torch.zeros(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        old = self.state.clone()
        self.state.copy_(x)
        return old


@program
def mutable_buffer() -> bytes:
    """State between runs: read before it is written, and written by aten::copy_."""
    return plain(Counter(), torch.zeros(2, 3))


class Sums(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sums = nn.Buffer(torch.arange(8, dtype=torch.float32).reshape(2, 4))
        self.calls = nn.Buffer(torch.zeros(1, dtype=torch.int64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.calls.add_(1)
        self.sums.add_(x)
        return self.sums * 2, self.calls


@program
def initialised_buffer() -> bytes:
    """Two states, one of them with an initial value in the program."""
    return plain(Sums(), torch.zeros(2, 4), passes=[InitializedMutableBufferPass(["sums"])])


class Cache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Buffer(torch.zeros(8, 4))

    def forward(self, position: Tensor, row: Tensor) -> Tensor:
        self.rows.index_copy_(0, position, row)
        return self.rows.clone()


@program
def cache() -> bytes:
    """A row of a state is replaced: index_put, then aten::copy_ of the whole."""
    return plain(Cache(), torch.tensor([2]), torch.zeros(1, 4))


@program
def cache_in_place() -> bytes:
    """The same by index_put_, which leaves the rest of the state alone."""
    return plain(Cache(), torch.tensor([2]), torch.zeros(1, 4), run_reinplace_pass=True)


@program
def states() -> bytes:
    """States that exchange their content, shift, depend on a branch, or are never read."""

    class States(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Buffer(torch.zeros(4, 4))
            self.second = nn.Buffer(torch.zeros(4, 4))
            self.line = nn.Buffer(torch.zeros(4, 4))
            self.chosen = nn.Buffer(torch.zeros(4, 4))
            self.unread = nn.Buffer(torch.zeros(4, 4))

        def forward(self, flag: Tensor, x: Tensor) -> tuple[Tensor, ...]:
            before = self.first[1:].clone()
            old = self.first.clone()
            self.first.copy_(self.second + x)
            self.second.copy_(old)
            self.line.copy_(torch.cat([self.line[1:], x[:1]]))
            self.chosen.copy_(
                torch.cond(
                    flag,
                    lambda x, chosen: chosen + x,
                    lambda x, chosen: chosen.clone(),
                    (x, self.chosen),
                )
            )
            self.unread.copy_(x)
            return before, self.second, self.line, self.chosen * 2

    return plain(States(), torch.tensor(True), torch.zeros(4, 4))


@program
def delegate() -> bytes:
    """A part that was handed to another backend."""
    return plain(delegated(Sine()), torch.zeros(2, 3))


class Sine(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x)


def delegated(module: nn.Module) -> Any:
    edge = to_edge(torch.export.export(module, (torch.zeros(2, 3),)))
    return to_backend(BackendWithCompilerDemo.__name__, edge.exported_program(), [])


@program
def delegate_elsewhere() -> bytes:
    """Methods `delegated`, which is, and `forward`, which is not."""
    inputs = (torch.zeros(2, 3),)
    methods = {
        "delegated": torch.export.export(delegated(Sine()), inputs),
        "forward": torch.export.export(Permuted(), inputs),
    }
    return bytes(to_edge(methods).to_executorch().buffer)


@program
def external_constant() -> bytes:
    """A constant that is stored outside the program."""

    def edit(program: Program) -> None:
        tensor = next(v.val for v in program.execution_plan[0].values if is_constant(v.val))
        tensor.extra_tensor_info = ExtraTensorInfo(
            fully_qualified_name="weight", location=TensorDataLocation.EXTERNAL
        )

    return edited(outputs(), edit)


def is_constant(value: Any) -> bool:
    return bool(getattr(value, "data_buffer_idx", 0))


@program
def free_call() -> bytes:
    """An instruction that frees a tensor."""

    def edit(program: Program) -> None:
        plan = program.execution_plan[0]
        plan.chains[0].instructions.append(Instruction(FreeCall(value_index=plan.inputs[0])))

    return edited(two_inputs(), edit)


@program
def named_data() -> bytes:
    """A blob with a name."""

    def edit(program: Program) -> None:
        program.named_data = [NamedData(key="blob", segment_index=0)]

    return edited(two_inputs(), edit)


@program
def unknown_scalar_type() -> bytes:
    """bfloat16 input."""
    return plain(Permuted(), torch.zeros(2, 3, dtype=torch.bfloat16))


@program
def written_input() -> bytes:
    """A model that changes its input: what it is changed to is the first output."""

    class Changing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x.add_(x)
            return x.permute(1, 0).contiguous()

    return plain(Changing(), torch.zeros(2, 3))


@program
def overlapping_view() -> bytes:
    """`network`, but linear reads memory one byte behind what the pool wrote."""

    def edit(program: Program) -> None:
        plan = program.execution_plan[0]
        written = {c.instr_args.args[-1] for c in plan.chains[0].instructions}
        reads = [c.instr_args.args[0] for c in plan.chains[0].instructions]
        view = next(i for i in reads if i not in written and i not in plan.inputs)
        plan.values[view] = deepcopy(plan.values[view])
        plan.values[view].val.allocation_info.memory_offset_low += 1

    return edited(network(), edit)


def main() -> None:
    for name, maker in MAKERS.items():
        torch.manual_seed(0)
        data = maker()
        (FOLDER / f"{name}.pte").write_bytes(data)
        print(f"{len(data):7,} {name}")


if __name__ == "__main__":
    main()
