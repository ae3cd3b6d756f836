/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SHORT_TABLE_H
#define CMRT_ARGS_SHORT_TABLE_H

#include "cmrt/program.h"

/* int16 elements, and the entries of a function of them. */
struct cm_short_table {
    cm_ref input;
    cm_ref output;
    cm_ref table;
    int32_t count;
};

#endif
