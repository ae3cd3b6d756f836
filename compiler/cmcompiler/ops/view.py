"""Views, the same bytes under another shape, that programs elide, and aten's view-like operators.

Parts of a tensor that lie together are views as well.
"""

from __future__ import annotations

from cmcompiler.decode import Call, program_op


@program_op(
    "aten::view_copy.out(Tensor self, int[] size, *, Tensor(a!) out)",
    "aten::squeeze_copy.out(Tensor self, *, Tensor(a!) out)",
    "aten::squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out)",
    "aten::squeeze_copy.dims_out(Tensor self, int[] dim, *, Tensor(a!) out)",
    "aten::unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out)",
    "aten::clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out)",
    "aten::alias_copy.out(Tensor self, *, Tensor(a!) out)",
    "aten::detach_copy.out(Tensor self, *, Tensor(a!) out)",
    "aten::lift_fresh_copy.out(Tensor self, *, Tensor(a!) out)",
    "dim_order_ops::_clone_dim_order.out(Tensor self, *, bool non_blocking=False, "
    "int[]? dim_order=None, Tensor(a!) out)",
    "executorch_prim::et_view.default(Tensor self, int[] size, Tensor out)",
)
def read(call: Call) -> None:
    """The elements in their logical order, under the shape and dim order of the output."""
    source, output = call.tensor("self"), call.output("out")
    if source.numel != output.numel or source.dtype != output.dtype:
        given = f"{source.dtype.name}{list(source.shape)}"
        call.invalid(f"{given} to {output.dtype.name}{list(output.shape)}")
    call.move(call.reshape(source, output.shape), output)
