#include "cmrt/board.h"

int main(void)
{
    cm_board_init();
    cm_finish(cm_main());
}
