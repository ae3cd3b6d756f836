#include "cmrt/board.h"

/* For applications without a clock; another definition overrides it. */
__attribute__((weak)) uint64_t cm_board_ticks(void)
{
    return 0;
}
