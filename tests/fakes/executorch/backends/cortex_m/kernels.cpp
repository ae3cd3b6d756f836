// A few operators of cortex_m, for tensors that lie alike: the least that a test needs.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <executorch/runtime/kernel/kernel_includes.h>

#ifdef HAS_CMSIS_NN
#include <arm_nnfunctions.h>
static_assert(sizeof(&arm_softmax_s8) > 0, "");
#endif

namespace cortex_m {
namespace native {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::KernelRuntimeContext;

static int32_t doubling_high(int32_t a, int32_t b)
{
    return static_cast<int32_t>((static_cast<int64_t>(a) * b + (INT64_C(1) << 30)) >> 31);
}

static int32_t rescale(int32_t x, int64_t multiplier, int64_t shift)
{
    int left = shift > 0 ? static_cast<int>(shift) : 0, right = left - static_cast<int>(shift);
    int32_t product = doubling_high(static_cast<int32_t>(static_cast<uint32_t>(x) << left), static_cast<int32_t>(multiplier));
    int32_t mask = static_cast<int32_t>((UINT32_C(1) << right) - 1);
    return (product >> right) + ((product & mask) > (mask >> 1) + (product < 0));
}

Tensor &quantize_per_tensor_out(KernelRuntimeContext &, const Tensor &input, double scale, int64_t zero_point,
                                int64_t low, int64_t high, ScalarType, Tensor &out)
{
    const float *x = input.const_data_ptr<float>();
    int8_t *y = out.mutable_data_ptr<int8_t>();
    float inverse = 1.0f / static_cast<float>(scale);
    for (ssize_t i = 0; i < input.numel(); ++i) {
        float rounded = std::nearbyintf(x[i] * inverse) + static_cast<float>(zero_point);
        y[i] = static_cast<int8_t>(std::min(std::max(rounded, static_cast<float>(low)), static_cast<float>(high)));
    }
    return out;
}

Tensor &dequantize_per_tensor_out(KernelRuntimeContext &, const Tensor &input, double scale, int64_t zero_point,
                                  int64_t, int64_t, ScalarType, Tensor &out)
{
    const int8_t *x = input.const_data_ptr<int8_t>();
    float *y = out.mutable_data_ptr<float>();
    for (ssize_t i = 0; i < input.numel(); ++i)
        y[i] = static_cast<float>(x[i] - static_cast<int32_t>(zero_point)) * static_cast<float>(scale);
    return out;
}

Tensor &quantized_add_out(KernelRuntimeContext &context, const Tensor &a, int64_t a_zero, int64_t a_multiplier,
                          int64_t a_shift, const Tensor &b, int64_t b_zero, int64_t b_multiplier, int64_t b_shift,
                          int64_t zero, int64_t multiplier, int64_t shift, int64_t low, int64_t high, Tensor &out)
{
    // For nothing but to ask for temporary memory.
    auto scratch = context.allocate_temp(static_cast<size_t>(a.numel()) * 100);
    if (!scratch.ok()) {
        context.fail(scratch.error());
        return out;
    }
    const int8_t *x = a.const_data_ptr<int8_t>(), *y = b.const_data_ptr<int8_t>();
    int8_t *z = out.mutable_data_ptr<int8_t>();
    for (ssize_t i = 0; i < a.numel(); ++i) {
        int32_t left = rescale((x[i] - static_cast<int32_t>(a_zero)) * (1 << 20), a_multiplier, a_shift);
        int32_t right = rescale((y[i] - static_cast<int32_t>(b_zero)) * (1 << 20), b_multiplier, b_shift);
        int64_t sum = rescale(left + right, multiplier, shift) + zero;
        z[i] = static_cast<int8_t>(std::min(std::max(sum, low), high));
    }
    return out;
}

Tensor &minimum_out(KernelRuntimeContext &, const Tensor &a, const Tensor &b, Tensor &out)
{
    const int8_t *x = a.const_data_ptr<int8_t>(), *y = b.const_data_ptr<int8_t>();
    int8_t *z = out.mutable_data_ptr<int8_t>();
    for (ssize_t i = 0; i < a.numel(); ++i)
        z[i] = std::min(x[i], y[i]);
    return out;
}

} // namespace native
} // namespace cortex_m
