/* An arena that belongs to the package: compiled with STILL_STATIC_ARENA. */
#include <stdio.h>

#include "still_vectors.h"

static uint8_t own[STILL_ARENA_BYTES] __attribute__((aligned(16)));

static int check(void *arena, size_t bytes)
{
    struct still model;
    if (still_init(&model, arena, bytes) != STILL_OK || still_vectors_load(&model, 0) != STILL_OK)
        return 1;
    int wrong = still_run(&model) != STILL_OK || still_vectors_check(&model, 0) >= 0;
    const uint8_t *input = (const uint8_t *)still_input_0(&model);
    int is_own = input >= own && input < own + sizeof own;
    return wrong + (is_own != (arena != NULL));
}

int main(void)
{
    int wrong = check(NULL, 0) + check(own, sizeof own);
    struct still model;
    wrong += still_init(&model, NULL, STILL_ARENA_BYTES) != STILL_NO_ARENA;
    wrong += still_init(NULL, NULL, 0) != STILL_NO_CONTEXT;
    wrong += still_set_hook(&model, NULL, NULL) != STILL_NO_CONTEXT;
    printf("%d wrong\n", wrong);
    return wrong;
}
