/* Runs of a stream: steps that make rows in tiles of columns. */
#include "cmrt/program.h"

#include <string.h>

/* The arguments of a call for a tile. */
static void fill_words(uint32_t *words, const struct cm_tiled *tiled, const void *first, uint32_t tile,
                       uint32_t tiles)
{
    memcpy(words, first, tiled->words * sizeof *words);
    if (tile == 0)
        return;
    for (uint32_t i = 0; i < tiled->patches; ++i) {
        const struct cm_patch *patch = &tiled->patch[i];
        words[patch->word] = tile + 1 == tiles ? patch->last : patch->second + (tile - 1) * patch->step;
    }
}

void cm_take_tiles(const struct cm_step *run, struct cm_progress *progress, cm_turn *turn, void *user)
{
    const struct cm_tiles *tiles = run->call.arguments;
    const int32_t y = progress->rows, below = y + (int32_t)tiles->band;
    const int32_t end = below < run->call.y1 ? below : run->call.y1;
    progress->rows = end;
    for (uint32_t tile = 0; tile < tiles->tiles; ++tile) {
        const struct cm_tiled *tiled = (const void *)(tiles + 1);
        for (uint32_t i = 1; i <= tiles->calls; ++i) {
            const struct cm_step *step = &run[i];
            const int32_t first = y * tiled->factor + tiled->low;
            const int32_t last = (end - 1) * tiled->factor + tiled->high + 1;
            uint32_t words[CM_MOVED_WORDS];
            fill_words(words, tiled, step->call.arguments, tile, tiles->tiles);
            const struct cm_call call = {words, first > step->call.y0 ? first : step->call.y0,
                                         last < step->call.y1 ? last : step->call.y1};
            if (call.y0 < call.y1)
                turn(user, step, &call, &progress[i]);
            tiled = (const void *)&tiled->patch[tiled->patches];
        }
    }
}
