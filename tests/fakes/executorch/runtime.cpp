// The least of a runtime that its public headers allow for: programs of kernel calls on planned tensors and
// numbers, without constants. Bytes are taken on trust; the real one is not for so small a program.
#include <cstring>
#include <new>

#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

// FlatBuffers: https://flatbuffers.dev/internals; fields by their numbers in program.fbs.
struct Table {
    const uint8_t *at;

    template <typename T> static T load(const uint8_t *from)
    {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    const uint8_t *field(unsigned number) const
    {
        const uint8_t *vtable = at - load<int32_t>(at);
        unsigned slot = 4 + 2 * number;
        uint16_t offset = slot < load<uint16_t>(vtable) ? load<uint16_t>(vtable + slot) : 0;
        return offset == 0 ? nullptr : at + offset;
    }
    template <typename T> T number(unsigned which) const
    {
        const uint8_t *place = field(which);
        return place == nullptr ? T{} : load<T>(place);
    }
    static const uint8_t *follow(const uint8_t *place)
    {
        return place + load<uint32_t>(place);
    }
    Table table(unsigned which) const
    {
        const uint8_t *place = field(which);
        return {place == nullptr ? nullptr : follow(place)};
    }
};

template <typename T> struct Vector {
    const uint8_t *at;

    Vector(const Table &table, unsigned field) : at(table.table(field).at)
    {
    }
    uint32_t size() const
    {
        return at == nullptr ? 0 : Table::load<uint32_t>(at);
    }
    const T *data() const
    {
        return reinterpret_cast<const T *>(at + 4);
    }
    Table table(uint32_t index) const
    {
        return {Table::follow(at + 4 + 4 * index)};
    }
};

enum { NONE = 1, INT = 2, BOOL = 3, DOUBLE = 4, TENSOR = 5, KERNEL_CALL = 1 };

} // namespace

namespace executorch {
namespace runtime {

// Registry

static Kernel registry[MAX_KERNEL_NUM];
static size_t registered;

Error register_kernels(const Span<const Kernel> kernels)
{
    if (registered + kernels.size() > MAX_KERNEL_NUM)
        runtime_abort();
    for (const Kernel &kernel : kernels)
        registry[registered++] = kernel;
    return Error::Ok;
}

static OpFunction find(const char *name)
{
    for (size_t i = 0; i < registered; ++i)
        if (std::strcmp(registry[i].name_, name) == 0)
            return registry[i].op_;
    return nullptr;
}

bool registry_has_op_function(const char *name, Span<const TensorMeta>)
{
    return find(name) != nullptr;
}

void runtime_init()
{
    et_pal_init();
}

void runtime_abort()
{
    et_pal_abort();
}

// Tensors

namespace etensor {
TensorImpl::TensorImpl(ScalarType type, ssize_t dim, SizesType *sizes, void *data, DimOrderType *order,
                       StridesType *strides, TensorShapeDynamism dynamism, DeviceType device, DeviceIndex index)
    : sizes_(sizes), dim_order_(order), strides_(strides), data_(data), dim_(dim), numel_(1),
      numel_bound_(1), type_(type), shape_dynamism_(dynamism), device_(device, index)
{
    for (ssize_t i = 0; i < dim; ++i)
        numel_ *= sizes[i];
}
size_t TensorImpl::nbytes() const
{
    return static_cast<size_t>(numel_) * (type_ == ScalarType::Float ? 4 : type_ == ScalarType::Char ? 1 : 0);
}
} // namespace etensor

// Programs

namespace internal {
Result<FreeableBuffer> PteDataMap::get_data(std::string_view) const
{
    return Error::NotFound;
}
Result<uint32_t> PteDataMap::get_num_keys() const
{
    return Error::NotFound;
}
Result<const char *> PteDataMap::get_key(uint32_t) const
{
    return Error::NotFound;
}
} // namespace internal

Result<Program> Program::load(DataLoader *loader, Verification)
{
    size_t size = *loader->size();
    Result<FreeableBuffer> data = loader->load(0, size, DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program));
    if (!data.ok())
        return data.error();
    const uint8_t *bytes = static_cast<const uint8_t *>(data->data());
    if (size < 8 || std::memcmp(bytes + 4, "ET12", 4) != 0)
        return Error::InvalidProgram;
    auto *root = reinterpret_cast<const executorch_flatbuffer::Program *>(Table::follow(bytes));
    return Program(loader, 0, std::move(*data), root, FreeableBuffer(), std::nullopt);
}

Result<Method> Program::load_method(const char *name, MemoryManager *memory, EventTracer *tracer,
                                    const NamedDataMap *, const LoadBackendOptionsMap *, Span<const Kernel>) const
{
    Vector<uint32_t> plans({reinterpret_cast<const uint8_t *>(internal_program_)}, 1);
    for (uint32_t i = 0; i < plans.size(); ++i) {
        const char *found = reinterpret_cast<const char *>(plans.table(i).table(0).at + 4);
        if (std::strcmp(found, name) == 0) {
            auto *plan = const_cast<uint8_t *>(plans.table(i).at);
            return Method::load(reinterpret_cast<executorch_flatbuffer::ExecutionPlan *>(plan), this, memory, tracer,
                                nullptr);
        }
    }
    return Error::InvalidArgument;
}

// Methods

struct Call {
    OpFunction function;
    Span<EValue *> arguments;
};

Method::~Method()
{
}

Result<Method> Method::load(executorch_flatbuffer::ExecutionPlan *plan, const Program *program, MemoryManager *memory,
                            EventTracer *tracer, const NamedDataMap *, const LoadBackendOptionsMap *,
                            Span<const Kernel>)
{
    Method method(program, memory, tracer, memory->temp_allocator());
    Error error = method.init(plan, nullptr, nullptr);
    if (error != Error::Ok)
        return error;
    return method;
}

static Error make_value(const Table &value, MemoryManager *memory, EValue *place)
{
    Table content = value.table(1);
    switch (value.number<uint8_t>(0)) {
    case NONE:
        new (place) EValue();
        return Error::Ok;
    case INT:
        new (place) EValue(content.number<int64_t>(0));
        return Error::Ok;
    case BOOL:
        new (place) EValue(content.number<uint8_t>(0) != 0);
        return Error::Ok;
    case DOUBLE:
        new (place) EValue(content.number<double>(0));
        return Error::Ok;
    case TENSOR: {
        Vector<int32_t> sizes(content, 2);
        Vector<uint8_t> order(content, 3);
        Table where = content.table(6);
        auto *impl = memory->method_allocator()->allocateInstance<executorch::aten::TensorImpl>();
        if (impl == nullptr)
            return Error::MemoryAllocationFailed;
        auto *shape = reinterpret_cast<executorch::aten::SizesType *>(const_cast<int32_t *>(sizes.data()));
        auto type = static_cast<executorch::aten::ScalarType>(content.number<uint8_t>(0));
        new (impl) executorch::aten::TensorImpl(type, static_cast<ssize_t>(sizes.size()), shape, nullptr,
                                                const_cast<uint8_t *>(order.data()));
        if (where.at == nullptr)
            return Error::NotSupported;
        auto data = memory->planned_memory()->get_offset_address(where.number<uint32_t>(0) - 1,
                                                                 where.number<uint32_t>(1), impl->nbytes());
        if (!data.ok())
            return data.error();
        impl->set_data(*data);
        new (place) EValue(executorch::aten::Tensor(impl));
        return Error::Ok;
    }
    default:
        return Error::NotSupported;
    }
}

Error Method::init(executorch_flatbuffer::ExecutionPlan *plan, const NamedDataMap *, const LoadBackendOptionsMap *)
{
    MemoryAllocator *allocator = memory_manager_->method_allocator();
    serialization_plan_ = plan;
    Table table = {reinterpret_cast<const uint8_t *>(plan)};
    Vector<uint32_t> values(table, 2), operators(table, 6);
    n_value_ = values.size();
    values_ = allocator->allocateList<EValue>(n_value_);
    if (values_ == nullptr)
        return Error::MemoryAllocationFailed;
    for (uint32_t i = 0; i < n_value_; ++i) {
        Error error = make_value(values.table(i), memory_manager_, &values_[i]);
        if (error != Error::Ok)
            return error;
    }
    Vector<uint32_t> chains(table, 5);
    Vector<uint32_t> instructions(chains.table(0), 2);
    auto *calls = allocator->allocateList<Call>(instructions.size());
    if (calls == nullptr)
        return Error::MemoryAllocationFailed;
    for (uint32_t i = 0; i < instructions.size(); ++i) {
        if (instructions.table(i).number<uint8_t>(0) != KERNEL_CALL)
            return Error::NotSupported;
        Table call = instructions.table(i).table(1);
        Table op = operators.table(call.number<uint32_t>(0));
        Vector<int32_t> arguments(call, 1);
        char name[100];
        const char *overload = op.table(1).at == nullptr ? "" : reinterpret_cast<const char *>(op.table(1).at + 4);
        std::strcpy(name, reinterpret_cast<const char *>(op.table(0).at + 4));
        if (*overload != '\0')
            std::strcat(std::strcat(name, "."), overload);
        auto **list = allocator->allocateList<EValue *>(arguments.size());
        // What the real runtime does to look for a kernel.
        MemoryAllocator *temporary = memory_manager_->temp_allocator();
        size_t most = arguments.size() * (sizeof(TensorMeta) + kTensorDimensionLimit);
        bool is_temporary = temporary != nullptr && temporary->size() >= most;
        auto *meta = (is_temporary ? temporary : allocator)->allocateList<TensorMeta>(arguments.size());
        if (list == nullptr || meta == nullptr)
            return Error::MemoryAllocationFailed;
        if (is_temporary)
            temporary->reset();
        for (uint32_t j = 0; j < arguments.size(); ++j)
            list[j] = &values_[arguments.data()[j]];
        calls[i] = {find(name), {list, arguments.size()}};
        if (calls[i].function == nullptr)
            return Error::OperatorMissing;
    }
    chains_ = reinterpret_cast<Chain *>(calls);
    n_chains_ = instructions.size();
    init_state_ = InitializationState::Initialized;
    return Error::Ok;
}

MethodMeta::MethodMeta(const executorch_flatbuffer::ExecutionPlan *plan) : s_plan_(plan)
{
}

Result<MethodMeta> Program::method_meta(const char *) const
{
    Vector<uint32_t> plans({reinterpret_cast<const uint8_t *>(internal_program_)}, 1);
    return MethodMeta(reinterpret_cast<const executorch_flatbuffer::ExecutionPlan *>(plans.table(0).at));
}

MethodMeta Method::method_meta() const
{
    return *program_->method_meta("");
}

Result<TensorInfo> MethodMeta::input_tensor_meta(size_t index) const
{
    Table plan = {reinterpret_cast<const uint8_t *>(s_plan_)};
    Table tensor = Vector<uint32_t>(plan, 2).table(static_cast<uint32_t>(Vector<int32_t>(plan, 3).data()[index])).table(1);
    Vector<int32_t> sizes(tensor, 2);
    Vector<uint8_t> order(tensor, 3);
    auto type = static_cast<executorch::aten::ScalarType>(tensor.number<uint8_t>(0));
    return TensorInfo({sizes.data(), sizes.size()}, {order.data(), order.size()}, type, true, {}, 0);
}

TensorInfo::TensorInfo(Span<const int32_t> sizes, Span<const uint8_t> order, executorch::aten::ScalarType type,
                       const bool planned, std::string_view name, size_t bytes)
    : sizes_(sizes), dim_order_(order), name_(name), scalar_type_(type), is_memory_planned_(planned), nbytes_(bytes)
{
}
Span<const int32_t> TensorInfo::sizes() const
{
    return sizes_;
}
Span<const uint8_t> TensorInfo::dim_order() const
{
    return dim_order_;
}
executorch::aten::ScalarType TensorInfo::scalar_type() const
{
    return scalar_type_;
}

Error Method::set_input(const EValue &value, size_t index)
{
    Vector<int32_t> inputs({reinterpret_cast<const uint8_t *>(serialization_plan_)}, 3);
    const auto &to = values_[inputs.data()[index]].toTensor();
    const auto &from = value.toTensor();
    if (to.nbytes() != from.nbytes() || to.scalar_type() != from.scalar_type())
        return Error::InvalidArgument;
    std::memmove(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes());
    return Error::Ok;
}

Error Method::set_output_data_ptr(void *, size_t, size_t)
{
    return Error::NotSupported;
}

const EValue &Method::get_output(size_t index) const
{
    Vector<int32_t> outputs({reinterpret_cast<const uint8_t *>(serialization_plan_)}, 4);
    return values_[outputs.data()[index]];
}

Error Method::step()
{
    if (step_state_.instr_idx == n_chains_)
        return Error::EndOfMethod;
    const Call &call = reinterpret_cast<const Call *>(chains_)[step_state_.instr_idx++];
    KernelRuntimeContext context(nullptr, temp_allocator_);
    call.function(context, call.arguments);
    temp_allocator_->reset();
    return context.failure_state();
}

Error Method::reset_execution()
{
    if (step_state_.instr_idx != n_chains_)
        return Error::InvalidState;
    step_state_ = {};
    return Error::Ok;
}

Error Method::execute()
{
    Error error = Error::Ok;
    while (error == Error::Ok)
        error = step();
    return error == Error::EndOfMethod ? reset_execution() : error;
}

} // namespace runtime
} // namespace executorch
