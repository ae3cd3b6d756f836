// ${generated_comment}
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/profiler.h>
#include <executorch/runtime/kernel/kernel_includes.h>
#include "${fn_header}"

namespace torch { namespace executor { namespace {
using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;
namespace internal = executorch::runtime::internal;

Kernel kernels[] = {
    ${unboxed_kernels}
};
[[maybe_unused]] const auto registered =
    executorch::runtime::register_kernels({kernels, sizeof(kernels) / sizeof(kernels[0])});
}}} // namespace
