/* The platform functions of ExecuTorch's runtime, and of the C and C++ libraries on bare metal. */
#include <cerrno>
#include <cstddef>

#include <executorch/runtime/platform/platform.h>

extern "C" {
#include "cmrt/board.h"
#include "cmrt/text.h"
}

namespace
{

/* Called when a fatal check fails. */
[[noreturn]] void give_up()
{
    cm_text text;
    cm_text_begin(&text, "error");
    cm_text_word(&text, "ExecuTorch's runtime has given up");
    cm_text_send(&text);
    cm_finish(1);
}

} // namespace

extern "C" {

void et_pal_init(void)
{
}

[[noreturn]] void et_pal_abort(void)
{
    give_up();
}

et_timestamp_t et_pal_current_ticks(void)
{
    return cm_board_ticks();
}

et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void)
{
    return {1, 1};
}

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char *, const char *, size_t,
                             const char *message, size_t)
{
    cm_text text;
    cm_text_begin(&text, "log");
    cm_text_word(&text, message);
    cm_text_send(&text);
}

void *et_pal_allocate(size_t)
{
    return nullptr;
}

void et_pal_free(void *)
{
}

#ifdef __arm__

/* There is no heap and no other process. Newlib's own abort() would link signals. */
[[noreturn]] void abort(void)
{
    give_up();
}

[[noreturn]] void _exit(int)
{
    give_up();
}

[[noreturn]] void __cxa_pure_virtual(void)
{
    give_up();
}

void *_sbrk(ptrdiff_t)
{
    errno = ENOMEM;
    return reinterpret_cast<void *>(-1);
}

/* Objects with static lifetime live until the image ends; there is only one loaded object file. */
void *__dso_handle = nullptr;

int __aeabi_atexit(void *, void (*)(void *), void *)
{
    return 0;
}
#endif
}

#ifdef __arm__

/* Virtual destructors refer to them; nothing is ever allocated on a heap. */
void operator delete(void *) noexcept
{
}

void operator delete(void *, size_t) noexcept
{
}
#endif
