/* What a chip reads from its flash, counted while a simulator executes: lines of code, prefetches, and misses
   of small caches. No clock: constants of the chip turn the counts into cycles, cmbuild/cycles/flash.py. */
#ifndef FLASH_READS_H
#define FLASH_READS_H

#include <stdbool.h>
#include <stdint.h>

/* Counts since they were last taken. */
struct flash_counts {
    uint64_t lines;       /* of code that execution entered */
    uint64_t prefetched;  /* of them, read ahead */
    uint64_t code_misses; /* of them, neither read ahead nor in the cache */
    uint64_t reads;       /* of constants */
    uint64_t data_misses; /* of them, not in the cache */
    uint64_t conflicts;   /* of them, right after a prefetch began */
    uint64_t ram_misses;  /* reads and writes of cached RAM, not in the cache for data */
};

/* Sets the chip: "origin:end:line:prefetch:shared:code bytes:code ways:data bytes:data ways:RAM origin:RAM
   end", in decimal. No ways: any line goes anywhere. A shared cache holds code and data, and is the one for
   code. The cache for data holds that RAM as well, if there is any. False if the text is something else. */
bool flash_begin(const char *chip);

/* A block of instructions begins. */
void flash_block(uint64_t address, uint32_t bytes);

/* A load from any address, or a store to RAM. */
void flash_access(uint64_t address);

void flash_take(struct flash_counts *counts);

#endif
