#include "cmrt/bilinear.h"

static inline int32_t blend(int32_t low, int32_t high, int32_t weight)
{
    return low + (((high - low) * weight + (1 << (CM_BILINEAR_WEIGHT - 1))) >> CM_BILINEAR_WEIGHT);
}

static void blend_rows(const struct cm_bilinear_row *row)
{
    for (int32_t i = 0; i < row->count; ++i)
        row->blended[i] = (int16_t)blend(row->low[i] * (1 << CM_BILINEAR_FRACTION),
                                         row->high[i] * (1 << CM_BILINEAR_FRACTION), row->weight);
}

void cm_isa_bilinear_row_s8(const struct cm_bilinear_row *row)
{
    int8_t *out = row->out;
    blend_rows(row);
    for (int32_t x = 0; x < row->width; ++x) {
        const int16_t *low = row->blended + row->columns[x].low, *high = row->blended + row->columns[x].high;
        int32_t weight = row->columns[x].weight;
        for (int32_t c = 0; c < row->channels; ++c)
            *out++ = (int8_t)((blend(low[c], high[c], weight) + (1 << (CM_BILINEAR_FRACTION - 1))) >>
                              CM_BILINEAR_FRACTION);
    }
}
