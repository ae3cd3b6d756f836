/* Memory from the link script, and stack use: start-up has filled the stack with a pattern. */
#include "cmrt/board.h"
#include "protect.h"

extern const uint32_t cm_stack_limit[], cm_stack_top[];
extern const uint8_t cm_vectors[], cm_code_end[];
extern uint8_t cm_workspace[], cm_workspace_end[];

struct cm_stack cm_board_stack(void)
{
    const uint32_t *deepest = cm_stack_begin();
    while (deepest < cm_stack_top && *deepest == UINT32_C(0xa5a5a5a5))
        ++deepest;
    return (struct cm_stack){
        .used = (uint32_t)((uintptr_t)cm_stack_top - (uintptr_t)deepest),
        .size = (uint32_t)((uintptr_t)cm_stack_top - (uintptr_t)cm_stack_limit),
    };
}

struct cm_code cm_board_code(void)
{
    return (struct cm_code){cm_vectors, (uint32_t)((uintptr_t)cm_code_end - (uintptr_t)cm_vectors)};
}

struct cm_workspace cm_board_workspace(void)
{
    return (struct cm_workspace){cm_workspace, cm_workspace_end};
}
