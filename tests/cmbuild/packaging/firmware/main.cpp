// Two models and two instances of one, in C++.
#include <cstring>

#include "cmrt/board.h"
#include "cmrt/host.h"
#include "gestures_vectors.h"
#include "kws_vectors.h"

extern "C" void tick(void);
extern "C" void tick(void)
{
}

namespace
{

KWS_ARENA(shared);
KWS_ARENA(own);
GESTURES_ARENA(state);

int check_instances()
{
    kws first, second;
    int wrong = kws_init(&first, shared, sizeof shared) != KWS_OK;
    wrong += kws_init(&second, own, sizeof own) != KWS_OK;
    for (uint32_t sample = 0; sample + 1 < KWS_VECTORS; ++sample) {
        std::memcpy(kws_input_0(&first), kws_vectors_input(0, sample), KWS_INPUT_0_BYTES);
        wrong += kws_vectors_load(&second, sample + 1) != KWS_OK;
        wrong += kws_run(&second) != KWS_OK || kws_run(&first) != KWS_OK;
        wrong += kws_vectors_check(&first, sample) >= 0;
        wrong += kws_vectors_check(&second, sample + 1) >= 0;
    }
    return wrong;
}

int check_states()
{
    gestures model;
    int wrong = gestures_init(&model, state, sizeof state) != GESTURES_OK;
    for (uint32_t sample = 0; sample < GESTURES_VECTORS; ++sample) {
        wrong += gestures_vectors_load(&model, sample) != GESTURES_OK;
        wrong += gestures_run(&model) != GESTURES_OK;
        wrong += gestures_vectors_check(&model, sample) >= 0;
    }
    return wrong;
}

} // namespace

extern "C" int cm_main(void)
{
    int wrong = check_instances() + check_states();
    cm_host_print(wrong == 0 ? "cmrt right\n" : "cmrt wrong\n");
    return wrong != 0;
}
