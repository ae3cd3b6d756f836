/* What a board gives to every image, and what it starts. */
#ifndef CMRT_BOARD_H
#define CMRT_BOARD_H

#include <stdint.h>

/* Sets up clocks and counters; called once, with memory initialised. */
void cm_board_init(void);

/* A clock that only counts up, in units that the board's descriptor names; always 0 if there is none. */
uint64_t cm_board_ticks(void);

/* Bytes of stack in use at the deepest point so far, and reserved; both 0 where they cannot be known. */
struct cm_stack {
    uint32_t used, size;
};
struct cm_stack cm_board_stack(void);

/* What is loaded into the region of the code, from the vectors on, as flash should hold it. */
struct cm_code {
    const uint8_t *begin;
    uint32_t bytes;
};
struct cm_code cm_board_code(void);

/* The memory that nothing else uses. */
struct cm_workspace {
    uint8_t *begin, *end;
};
struct cm_workspace cm_board_workspace(void);

/* The image's work, defined by the runner or the kernel harness: called by the board when all is set up. Its
   result is the exit status. */
int cm_main(void);

/* Reports the end of a run to the host, in the form that it demands as proof, and exits. */
__attribute__((noreturn)) void cm_finish(int status);

#endif
