/* CRC-32 as in zlib and IEEE 802.3: polynomial 0x04c11db7, reflected. */
#ifndef CMRT_CHECKSUM_H
#define CMRT_CHECKSUM_H

#include <stdint.h>

uint32_t cm_checksum(const void *data, uint32_t bytes);

#endif
