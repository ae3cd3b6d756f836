/* The executor that loads a program with ExecuTorch's own runtime, and runs it instruction by instruction. */
#include <array>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

extern "C" {
#include "cmrt/executor.h"
#include "cmrt/executorch.h"
#include "cmrt/stopwatch.h"
#include "cmrt/text.h"
#include "model.h"
}

namespace
{

using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::TensorMeta;

constexpr const cm_executorch_program &model = CM_MODEL_PROGRAM;

/* The link script and the host recognise it by section and name. */
alignas(16) __attribute__((section(".bss.cm_arena"))) uint8_t arena[CM_MODEL_ARENA_BYTES] __asm__("cm_arena");

/* A dry run, without a separate method pool, measures the pools' sizes. Their alignment is at least any that
   is requested, so that padding is the same in both runs. */
constexpr size_t pool_alignment = 64;

/* While it looks up a kernel, the runtime describes the instruction's arguments in the temporary pool; if
   that may be too small, in the method pool, permanently. */
constexpr size_t description_bytes =
    CM_MODEL_ARGUMENTS * (sizeof(TensorMeta) + executorch::runtime::kTensorDimensionLimit);
constexpr size_t temporary_bytes =
    CM_TEMPORARY_POOL_BYTES > description_bytes ? CM_TEMPORARY_POOL_BYTES : description_bytes;

alignas(pool_alignment) std::array<uint8_t, CM_METHOD_POOL_BYTES> method_memory;
alignas(pool_alignment) std::array<uint8_t, temporary_bytes> temporary_memory;
constexpr bool is_dry_run = CM_METHOD_POOL_BYTES == 0;

/* A bump allocator that records its peak. */
class Pool final : public MemoryAllocator
{
  public:
    Pool(const char *name, uint8_t *begin, size_t bytes)
        : MemoryAllocator(static_cast<uint32_t>(bytes), bytes == 0 ? nullptr : begin), name_(name)
    {
    }

    void *allocate(size_t bytes, size_t alignment) override
    {
        void *place = MemoryAllocator::allocate(bytes, alignment);
        if (place == nullptr)
            exhausted_ = true;
        if (used_size() > most_)
            most_ = used_size();
        return place;
    }

    bool exhausted() const
    {
        return exhausted_;
    }

    cm_pool_use use() const
    {
        return {name_, static_cast<uint32_t>(most_), size()};
    }

  private:
    const char *name_;
    size_t most_ = 0;
    bool exhausted_ = false;
};

/* A line of text about an error, truncated to its buffer. */
class Reason
{
  public:
    Reason &operator<<(const char *text)
    {
        while (*text != '\0' && length_ + 1 < text_.size())
            text_[length_++] = *text++;
        return *this;
    }

    const char *text() const
    {
        return length_ == 0 ? nullptr : text_.data();
    }

  private:
    std::array<char, CM_TEXT_BYTES> text_{};
    size_t length_ = 0;
};

/* Everything that loading creates, in order. */
struct Machine {
    Reason reason;
    std::optional<BufferDataLoader> loader;
    std::optional<Program> program;
    std::optional<Pool> method_pool, temporary_pool;
    std::array<Span<uint8_t>, CM_MODEL_BUFFERS> buffers;
    std::optional<HierarchicalAllocator> planned;
    std::optional<MemoryManager> memory;
    std::optional<Method> method;
};

/* Never destroyed: the image ends with the run. */
Machine &machine()
{
    alignas(Machine) static uint8_t storage[sizeof(Machine)];
    static Machine *made = nullptr;
    if (made == nullptr)
        made = new (storage) Machine;
    return *made;
}

bool failed(const char *what, Error error)
{
    Machine &m = machine();
    for (const std::optional<Pool> *pool : {&m.method_pool, &m.temporary_pool})
        if (pool->has_value() && (*pool)->exhausted())
            m.reason << "the " << (*pool)->use().name << " pool is too small: ";
    m.reason << what << " failed with " << executorch::runtime::to_string(error);
    return false;
}

bool load_program(Machine &m)
{
    m.loader.emplace(model.program, model.program_bytes);
    Result<Program> program = Program::load(&*m.loader);
    if (!program.ok())
        return failed("loading the program", program.error());
    m.program.emplace(std::move(*program));
    return true;
}

bool find_kernels(Machine &m)
{
    const char *before = "no kernel is linked for ";
    for (uint32_t i = 0; i < model.operator_count; ++i) {
        if (!executorch::runtime::registry_has_op_function(model.operators[i])) {
            m.reason << before << model.operators[i];
            before = ", ";
        }
    }
    return m.reason.text() == nullptr;
}

void make_pools(Machine &m)
{
    if constexpr (is_dry_run) {
        cm_workspace rest = cm_board_workspace();
        uint8_t *begin = rest.begin + -reinterpret_cast<uintptr_t>(rest.begin) % pool_alignment;
        size_t half = static_cast<size_t>(rest.end - begin) / 2;
        half -= half % pool_alignment;
        m.method_pool.emplace("method", begin, half);
        m.temporary_pool.emplace("temporary", begin + half, half);
    } else {
        m.method_pool.emplace("method", method_memory.data(), method_memory.size());
        m.temporary_pool.emplace("temporary", temporary_memory.data(), temporary_memory.size());
    }
    for (uint32_t i = 0; i < model.buffer_count; ++i)
        m.buffers[i] = Span<uint8_t>(arena + model.buffers[i].offset, model.buffers[i].bytes);
    m.planned.emplace(Span<Span<uint8_t>>(m.buffers.data(), model.buffer_count));
    m.memory.emplace(&*m.method_pool, &*m.planned, &*m.temporary_pool);
}

bool load_method(Machine &m)
{
    Result<Method> method = m.program->load_method(model.method, &*m.memory);
    if (!method.ok())
        return failed("loading the method", method.error());
    m.method.emplace(std::move(*method));
    return true;
}

/* Inputs are written to their planned memory: the runtime copies them onto themselves once or, if they are
   not planned, is given their address. */
Error connect_input(Method &method, const cm_argument &input)
{
    auto meta = method.method_meta().input_tensor_meta(input.index);
    if (!meta.ok())
        return meta.error();
    auto *sizes = const_cast<TensorImpl::SizesType *>(meta->sizes().data());
    auto *order = const_cast<TensorImpl::DimOrderType *>(meta->dim_order().data());
    auto rank = static_cast<ssize_t>(meta->sizes().size());
    TensorImpl tensor(meta->scalar_type(), rank, sizes, arena + input.extent.offset, order);
    return method.set_input(EValue(Tensor(&tensor)), input.index);
}

bool connect_ports(Machine &m)
{
    for (uint32_t i = 0; i < model.input_count; ++i) {
        Error error = connect_input(*m.method, model.inputs[i]);
        if (error != Error::Ok)
            return failed("setting an input", error);
    }
    for (uint32_t i = 0; i < model.output_count; ++i) {
        const cm_argument &output = model.outputs[i];
        if (output.planned)
            continue;
        void *place = arena + output.extent.offset;
        Error error = m.method->set_output_data_ptr(place, output.extent.bytes, output.index);
        if (error != Error::Ok)
            return failed("setting an output", error);
    }
    return true;
}

/* Stepping is a public, but experimental, API. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

bool run_stepwise(Method &method, cm_step_hook *hook, void *user)
{
    uint64_t cost = cm_clock_cost();
    for (uint32_t i = 0; i < model.step_count; ++i) {
        uint64_t start = cm_board_ticks();
        Error error = method.step();
        uint64_t ticks = cm_ticks_since(start, cost);
        if (error != Error::Ok)
            return failed(model.steps[i], error);
        if (!hook(user, i, ticks))
            return false;
    }
    Error error = method.reset_execution();
    return error == Error::Ok || failed("coming to the end of the method", error);
}

#pragma GCC diagnostic pop

bool run_whole(Method &method, cm_step_hook *hook, void *user)
{
    uint64_t cost = cm_clock_cost();
    uint64_t start = cm_board_ticks();
    Error error = method.execute();
    uint64_t ticks = cm_ticks_since(start, cost);
    return error == Error::Ok ? hook(user, 0, ticks) : failed("the method", error);
}

} // namespace

extern "C" {

struct cm_description cm_executor_describe(void)
{
    cm_description description = {};
    description.executor = "executorch";
    description.identity = model.identity;
    description.input_count = model.input_count;
    description.output_count = model.output_count;
    description.step_count = model.step_count;
    description.arena_bytes = model.arena_bytes;
    return description;
}

bool cm_executor_load(void)
{
    executorch::runtime::runtime_init();
    Machine &m = machine();
    if (!load_program(m) || !find_kernels(m))
        return false;
    make_pools(m);
    return load_method(m) && connect_ports(m);
}

const char *cm_executor_error(void)
{
    return machine().reason.text();
}

struct cm_buffer cm_executor_input(uint32_t index)
{
    const cm_extent &extent = model.inputs[index].extent;
    return {arena + extent.offset, extent.bytes};
}

struct cm_const_buffer cm_executor_output(uint32_t index)
{
    const Tensor &tensor = machine().method->get_output(model.outputs[index].index).toTensor();
    return {tensor.const_data_ptr(), static_cast<uint32_t>(tensor.nbytes())};
}

const void *cm_executor_peek(uint32_t place, uint32_t bytes)
{
    return place <= sizeof arena && bytes <= sizeof arena - place ? arena + place : nullptr;
}

/* The host rejects programs with mutable buffers. */
void cm_executor_reset(void)
{
}

/* It takes whole inputs. */
void cm_executor_feed(struct cm_outside, void *)
{
}

bool cm_executor_run(cm_step_hook *hook, void *user)
{
    Method &method = *machine().method;
    return model.stepwise ? run_stepwise(method, hook, user) : run_whole(method, hook, user);
}

bool cm_executor_pool(uint32_t index, struct cm_pool_use *use)
{
    Machine &m = machine();
    const std::optional<Pool> *const pools[] = {&m.method_pool, &m.temporary_pool};
    if (index >= std::size(pools) || !pools[index]->has_value())
        return false;
    *use = (*pools[index])->use();
    return true;
}
}
