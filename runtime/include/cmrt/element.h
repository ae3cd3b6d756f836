/* Elements of any integer type, read and written as 64-bit numbers; codes match ops/support/element.py. */
#ifndef CMRT_ELEMENT_H
#define CMRT_ELEMENT_H

#include <stdint.h>

enum cm_element { CM_BOOL, CM_UINT8, CM_INT8, CM_INT16, CM_INT32, CM_INT64, CM_FLOAT32, CM_FLOAT64 };

static inline int64_t cm_load(enum cm_element type, const void *base, int32_t index)
{
    switch (type) {
    case CM_INT8:
        return ((const int8_t *)base)[index];
    case CM_INT16:
        return ((const int16_t *)base)[index];
    case CM_INT32:
        return ((const int32_t *)base)[index];
    case CM_INT64:
        return ((const int64_t *)base)[index];
    default:
        return ((const uint8_t *)base)[index];
    }
}

/* Keeps the low bits; a bool is whether the value is not 0. */
static inline void cm_store(enum cm_element type, void *base, int32_t index, int64_t value)
{
    switch (type) {
    case CM_BOOL:
        ((uint8_t *)base)[index] = value != 0;
        break;
    case CM_INT16:
        ((int16_t *)base)[index] = (int16_t)value;
        break;
    case CM_INT32:
        ((int32_t *)base)[index] = (int32_t)value;
        break;
    case CM_INT64:
        ((int64_t *)base)[index] = value;
        break;
    default:
        ((uint8_t *)base)[index] = (uint8_t)value;
        break;
    }
}

static inline int32_t cm_element_size(enum cm_element type)
{
    return type <= CM_INT8 ? 1 : type == CM_INT16 ? 2 : type == CM_INT64 ? 8 : 4;
}

#endif
