/* Three models, one after the other in one arena; and two contexts of one model. */
#include <stdio.h>

#include "cmbuild/arena.h"
#include "cmrt/board.h"
#include "cmrt/host.h"
#include "hello_vectors.h"
#include "kws_vectors.h"
#include "wake_vectors.h"

namespace
{

constexpr unsigned largest(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

CMBUILD_ARENA alignas(
    16) uint8_t shared[largest(HELLO_ARENA_BYTES, largest(KWS_ARENA_BYTES, WAKE_ARENA_BYTES))];
CMBUILD_ARENA KWS_ARENA(own);

hello sums;
kws first, second;
wake waker;

void print(const char *name, int wrong)
{
    char line[32];
    snprintf(line, sizeof line, "%s %d wrong\n", name, wrong);
    cm_host_print(line);
}

int check_sums()
{
    if (hello_init(&sums, shared, sizeof shared) != HELLO_OK)
        return -1;
    if (hello_vectors_load(&sums, 0) != HELLO_OK || hello_run(&sums) != HELLO_OK)
        return -1;
    return hello_vectors_check(&sums, 0) >= 0;
}

int check_two_contexts()
{
    if (kws_init(&first, shared, sizeof shared) != KWS_OK || kws_init(&second, own, sizeof own) != KWS_OK)
        return -1;
    kws_vectors_load(&first, 0);
    kws_vectors_load(&second, 1);
    kws_run(&first);
    kws_run(&second);
    return (kws_vectors_check(&first, 0) >= 0) + (kws_vectors_check(&second, 1) >= 0);
}

int check_waker()
{
    if (wake_init(&waker, shared, sizeof shared) != WAKE_OK)
        return -1;
    int8_t *input = wake_input_0(&waker);
    wake_vectors_load(&waker, 0);
    int8_t step = wake_input_0_quantize(wake_input_0_dequantize(input[0]));
    int wrong = step != input[0];
    wake_run(&waker);
    return wrong + (wake_vectors_check(&waker, 0) >= 0);
}

} // namespace

extern "C" int cm_main(void)
{
    print("hello", check_sums());
    print("kws", check_two_contexts());
    print("wake", check_waker());
    return 0;
}
