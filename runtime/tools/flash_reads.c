#include "flash_reads.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { NONE = UINT32_MAX };

/* Lines by the time of their last use; the oldest of a set goes first. */
struct cache {
    uint32_t sets, ways;
    uint32_t *lines;
    uint64_t *used, clock;
};

static struct {
    uint64_t origin, end, ram_origin, ram_end;
    uint32_t line;
    bool prefetches;
    struct cache code, own, *data;
    uint32_t current, next; /* lines: the one that runs, and the one read ahead */
    uint32_t begun;         /* prefetches that no read of data that missed has met yet */
    struct flash_counts counts;
} chip;

static bool make(struct cache *cache, uint32_t bytes, uint32_t ways, uint32_t line)
{
    free(cache->lines);
    free(cache->used);
    *cache = (struct cache){0};
    uint32_t lines = bytes / line;
    if (lines == 0)
        return true;
    cache->ways = ways == 0 ? lines : ways;
    cache->sets = lines / cache->ways;
    cache->lines = malloc(lines * sizeof *cache->lines);
    cache->used = calloc(lines, sizeof *cache->used);
    if (cache->lines == NULL || cache->used == NULL || cache->sets == 0)
        return false;
    for (uint32_t i = 0; i < lines; ++i)
        cache->lines[i] = NONE;
    return true;
}

static bool holds(struct cache *cache, uint32_t line)
{
    if (cache->sets == 0)
        return false;
    uint32_t first = line % cache->sets * cache->ways;
    for (uint32_t i = first; i < first + cache->ways; ++i)
        if (cache->lines[i] == line) {
            cache->used[i] = ++cache->clock;
            return true;
        }
    return false;
}

static void fill(struct cache *cache, uint32_t line)
{
    if (cache->sets == 0 || holds(cache, line))
        return;
    uint32_t first = line % cache->sets * cache->ways, oldest = first;
    for (uint32_t i = first; i < first + cache->ways; ++i)
        if (cache->used[i] < cache->used[oldest])
            oldest = i;
    cache->lines[oldest] = line;
    cache->used[oldest] = ++cache->clock;
}

static void enter(uint32_t line)
{
    ++chip.counts.lines;
    chip.current = line;
    if (chip.prefetches && line == chip.next) {
        ++chip.counts.prefetched;
        fill(&chip.code, line);
    } else if (!holds(&chip.code, line)) {
        ++chip.counts.code_misses;
        fill(&chip.code, line);
    }
    if (chip.prefetches && chip.next != line + 1 && !holds(&chip.code, line + 1)) {
        chip.next = line + 1;
        ++chip.begun;
    }
}

EXPORT bool flash_begin(const char *text)
{
    uint32_t prefetch, shared, code_bytes, code_ways, data_bytes, data_ways;
    char rest;
    int read = sscanf(text,
                      "%" SCNu64 ":%" SCNu64 ":%" SCNu32 ":%" SCNu32 ":%" SCNu32 ":%" SCNu32 ":%" SCNu32
                      ":%" SCNu32 ":%" SCNu32 ":%" SCNu64 ":%" SCNu64 "%c",
                      &chip.origin, &chip.end, &chip.line, &prefetch, &shared, &code_bytes, &code_ways,
                      &data_bytes, &data_ways, &chip.ram_origin, &chip.ram_end, &rest);
    if (read != 11 || chip.line == 0)
        return false;
    chip.prefetches = prefetch != 0;
    chip.data = shared != 0 ? &chip.code : &chip.own;
    chip.current = chip.next = NONE;
    chip.begun = 0;
    chip.counts = (struct flash_counts){0};
    return make(&chip.code, code_bytes, code_ways, chip.line) &&
           make(&chip.own, data_bytes, data_ways, chip.line);
}

EXPORT void flash_block(uint64_t address, uint32_t bytes)
{
    if (address < chip.origin || address >= chip.end || bytes == 0)
        return;
    if (chip.begun > 1)
        chip.begun = 1;
    uint32_t last = (uint32_t)((address + bytes - 1) / chip.line);
    for (uint32_t line = (uint32_t)(address / chip.line); line <= last; ++line)
        if (line != chip.current)
            enter(line);
}

EXPORT void flash_access(uint64_t address)
{
    uint32_t line = (uint32_t)(address / chip.line);
    if (address >= chip.ram_origin && address < chip.ram_end) {
        if (!holds(chip.data, line)) {
            fill(chip.data, line);
            ++chip.counts.ram_misses;
        }
        return;
    }
    if (address < chip.origin || address >= chip.end)
        return;
    ++chip.counts.reads;
    if (holds(chip.data, line))
        return;
    fill(chip.data, line);
    ++chip.counts.data_misses;
    if (chip.begun > 0) {
        ++chip.counts.conflicts;
        --chip.begun;
    }
}

EXPORT void flash_take(struct flash_counts *counts)
{
    *counts = chip.counts;
    chip.counts = (struct flash_counts){0};
}

/* Hooks as Unicorn calls them. */

EXPORT void flash_block_hook(void *machine, uint64_t address, uint32_t bytes, void *user)
{
    (void)machine, (void)user;
    flash_block(address, bytes);
}

EXPORT void flash_access_hook(void *machine, int kind, uint64_t address, int bytes, int64_t value, void *user)
{
    (void)machine, (void)kind, (void)bytes, (void)value, (void)user;
    flash_access(address);
}
