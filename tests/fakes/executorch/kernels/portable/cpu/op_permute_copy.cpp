#include <cstring>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {

executorch::aten::Tensor &permute_copy_out(executorch::runtime::KernelRuntimeContext &,
                                           const executorch::aten::Tensor &input,
                                           executorch::aten::ArrayRef<int64_t> dims, executorch::aten::Tensor &out)
{
    auto *to = static_cast<char *>(out.mutable_data_ptr());
    const auto *from = static_cast<const char *>(input.const_data_ptr());
    size_t element = input.element_size();
    for (ssize_t i = 0; i < out.numel(); ++i) {
        ssize_t rest = i, at = 0;
        for (ssize_t d = out.dim() - 1; d >= 0; --d) {
            at += rest % out.size(d) * input.strides()[dims[d]];
            rest /= out.size(d);
        }
        std::memcpy(to + i * element, from + at * element, element);
    }
    return out;
}

} // namespace native
} // namespace executor
} // namespace torch
