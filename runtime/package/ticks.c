#include "cmrt/board.h"

/* For those who have no clock; any other definition takes its place. */
__attribute__((weak)) uint64_t cm_board_ticks(void)
{
    return 0;
}
