#include "cmrt/elementwise.h"

void cm_isa_lookup_s8(const int8_t *in, const int8_t *table, int8_t *out, int32_t count)
{
    __asm volatile("dlstp.8 lr, %[count]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]], #16\n"
                   "vldrb.u8 q1, [%[table], q0]\n"
                   "vstrb.8 q1, [%[out]], #16\n"
                   "letp lr, 1b\n"
                   : [in] "+r"(in), [out] "+r"(out)
                   : [table] "r"(table), [count] "r"(count)
                   : "q0", "q1", "lr", "memory");
}
