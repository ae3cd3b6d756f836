#include <string.h>

#include "cmrt/program.h"

void cm_reset_states(const struct cm_context *context, const struct cm_state *states, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        void *data = cm_write(context, states[i].data);
        if (states[i].initial == CM_REF_NONE)
            memset(data, 0, states[i].bytes);
        else
            memcpy(data, cm_read(context, states[i].initial), states[i].bytes);
    }
}
