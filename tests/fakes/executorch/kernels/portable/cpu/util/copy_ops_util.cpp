#include <cstring>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

void copy_elements(const executorch::aten::Tensor &from, executorch::aten::Tensor &to)
{
    std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
}

} // namespace executor
} // namespace torch
