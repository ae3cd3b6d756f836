/* Rows of int16 as products without SIMD read them: see short_product.h. */
#ifndef SHORT_ROWS_H
#define SHORT_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { COLUMNS = 4 };

/* A row's numbers plus 32768, filled up to pairs with a zero, behind what the sums of four columns begin
 * with. */
struct short_row {
    uint32_t starts[COLUMNS];
    uint16_t shorts[];
};

/* Depths [at, at + depth) of a row, from 0 on one part after the other. */
void cm_scalar_pack_shorts(struct short_row *out, int32_t at, const int8_t *row, int32_t depth);

static inline int32_t short_pairs(int32_t depth)
{
    return (depth + 1) / 2;
}

static inline ptrdiff_t short_row_bytes(int32_t pairs)
{
    return (ptrdiff_t)sizeof(struct short_row) + (ptrdiff_t)2 * pairs * (ptrdiff_t)sizeof(uint16_t);
}

static inline const struct short_row *next_row(const struct short_row *row, int32_t pairs)
{
    return (const struct short_row *)(const void *)((const uint8_t *)row + short_row_bytes(pairs));
}

/* That row of a workspace, to be written. */
static inline struct short_row *short_row_at(void *workspace, int32_t row, int32_t pairs)
{
    return (struct short_row *)(void *)((uint8_t *)workspace + row * short_row_bytes(pairs));
}

#endif
