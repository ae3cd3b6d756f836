/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_MAX_POOL_H
#define CMRT_ARGS_MAX_POOL_H

#include "cmrt/args/images.h"

#include <stdint.h>

/* Images whose largest elements, or the places of these, are wanted. */
struct cm_max_pool {
    struct cm_images images;
    int32_t image_width;
    /* enum cm_element */
    int32_t type;
    /* returns the index of the tap in its image, as int64 */
    int32_t of_places;
};

#endif
