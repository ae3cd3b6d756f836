/* Every kernel of the library by name; the table is generated from kernels/. */
#ifndef KERNELS_H
#define KERNELS_H

#include "cmrt/program.h"

struct named_kernel {
    const char *name; /* without the prefix cm_ */
    cm_kernel *run;
};

extern const struct named_kernel named_kernels[];
extern const uint32_t named_kernel_count;

#endif
