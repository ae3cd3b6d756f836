// For tensors that lie alike.
#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

void copy_elements(const executorch::aten::Tensor &from, executorch::aten::Tensor &to);

namespace native {

executorch::aten::Tensor &_clone_dim_order_out(executorch::runtime::KernelRuntimeContext &,
                                               const executorch::aten::Tensor &input, bool,
                                               executorch::aten::OptionalArrayRef<int64_t>,
                                               executorch::aten::Tensor &out)
{
    copy_elements(input, out);
    return out;
}

} // namespace native
} // namespace executor
} // namespace torch
