#include "cmrt/board.h"
#include "cmrt/host.h"
#include "cmrt/text.h"

void cm_finish(int status)
{
    struct cm_text text;
    struct cm_stack stack = cm_board_stack();
    cm_text_begin(&text, "stack");
    cm_text_number(&text, stack.used);
    cm_text_number(&text, stack.size);
    cm_text_send(&text);
    cm_text_begin(&text, "end");
    cm_text_number(&text, (uint32_t)status);
    cm_text_send(&text);
    cm_host_exit(status);
}
