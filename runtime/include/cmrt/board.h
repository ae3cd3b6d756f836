/* The interface between boards and images. */
#ifndef CMRT_BOARD_H
#define CMRT_BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets up clocks and counters; called once, with memory initialised. */
void cm_board_init(void);

/* A monotonic clock, in the units of the board's descriptor; always 0 if there is none. */
uint64_t cm_board_ticks(void);

/* Bytes of stack used at most so far, and reserved; both 0 if unknown. */
struct cm_stack {
    uint32_t used, size;
};
struct cm_stack cm_board_stack(void);

/* The contents of the code's region, from the vectors on, as in flash. */
struct cm_code {
    const uint8_t *begin;
    uint32_t bytes;
};
struct cm_code cm_board_code(void);

/* Unused memory. */
struct cm_workspace {
    uint8_t *begin, *end;
};
struct cm_workspace cm_board_workspace(void);

/* The image's main function, defined by the runner or the kernel harness and called by the board after
   set-up. Returns the exit status. */
int cm_main(void);

/* Prints the final record, by which the host recognises a complete run, and exits. */
__attribute__((noreturn)) void cm_finish(int status);

#ifdef __cplusplus
}
#endif

#endif
