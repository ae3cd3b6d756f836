/* A plugin of QEMU's translator that counts how often one block of instructions follows another. Counts are
   kept for each segment: what runs between two executions of a mark. If asked to, it counts the reads of
   flash too. cmbuild/cycles/profile.py reads the file.

   The declarations are those of QEMU's plugin API, whose header distributions do not package; the functions
   used here are the same in all its versions so far. */
#include "flash_reads.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef API_VERSION
#define API_VERSION 1
#endif
#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint32_t qemu_plugin_meminfo_t;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*translated)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*executed)(unsigned, void *),
                                          enum qemu_plugin_cb_flags flags, void *user);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*executed)(unsigned, void *),
                                            enum qemu_plugin_cb_flags flags, void *user);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*accessed)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *),
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw kind,
                                      void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*ended)(qemu_plugin_id_t, void *), void *user);
void qemu_plugin_uninstall(qemu_plugin_id_t id, void (*done)(qemu_plugin_id_t));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv);

EXPORT int qemu_plugin_version = API_VERSION;

enum { SLOTS = 1 << 12 };

struct block;

/* How often a block ran right after another. */
struct edge {
    const struct block *from;
    uint64_t count;
    struct edge *next;
};

struct block {
    uint32_t id, address, instructions, bytes;
    struct edge *edges; /* the latest first */
    struct block *same_slot, *older;
};

static struct block *slots[SLOTS], *newest;
static const struct block outside; /* what ran before the first block */
static const struct block *current = &outside;
static FILE *output;
static uint64_t mark, last; /* addresses: of the mark, and of the function that is to run but once */
static uint64_t last_runs;  /* how often the latter ran */
static bool has_flash;      /* whose reads are counted */
static qemu_plugin_id_t plugin;

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL)
        abort();
    return memory;
}

static struct edge *edge_from(struct block *block, const struct block *from)
{
    struct edge **link = &block->edges;
    while (*link != NULL && (*link)->from != from)
        link = &(*link)->next;
    struct edge *found = *link;
    if (found == NULL) {
        found = allocate(sizeof *found);
        found->from = from;
    } else {
        *link = found->next;
    }
    found->next = block->edges;
    block->edges = found;
    return found;
}

static void block_executed(unsigned cpu, void *user)
{
    (void)cpu;
    struct block *block = user;
    struct edge *edge = block->edges;
    if (edge == NULL || edge->from != current)
        edge = edge_from(block, current);
    ++edge->count;
    current = block;
    if (has_flash)
        flash_block(block->address, block->bytes);
}

/* Stores too, which no image makes to flash: QEMU 7.2 leaves out loads if asked for those alone. */
static void memory_accessed(unsigned cpu, qemu_plugin_meminfo_t kind, uint64_t address, void *user)
{
    (void)cpu, (void)kind, (void)user;
    flash_access(address);
}

static void end_segment(void)
{
    fputs("segment\n", output);
    for (struct block *block = newest; block != NULL; block = block->older)
        for (struct edge *edge = block->edges; edge != NULL; edge = edge->next)
            if (edge->count > 0) {
                fprintf(output, "%" PRIu32 " %" PRIu32 " %" PRIu64 "\n", edge->from->id, block->id,
                        edge->count);
                edge->count = 0;
            }
    if (has_flash) {
        struct flash_counts counts;
        flash_take(&counts);
        fprintf(output,
                "flash %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                counts.lines, counts.prefetched, counts.code_misses, counts.reads, counts.data_misses,
                counts.conflicts, counts.ram_misses);
    }
}

static void mark_executed(unsigned cpu, void *user)
{
    (void)cpu, (void)user;
    end_segment();
}

static void finish(void)
{
    if (output == NULL)
        return;
    fputs("end\n", output);
    fclose(output);
    output = NULL;
}

static void uninstalled(qemu_plugin_id_t id)
{
    (void)id;
    finish();
}

static void last_executed(unsigned cpu, void *user)
{
    (void)cpu, (void)user;
    if (++last_runs == 2)
        qemu_plugin_uninstall(plugin, uninstalled);
}

static void block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    uint32_t address = (uint32_t)qemu_plugin_tb_vaddr(tb), count = (uint32_t)qemu_plugin_tb_n_insns(tb);
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t place = qemu_plugin_insn_vaddr(insn);
        bytes += (uint32_t)qemu_plugin_insn_size(insn);
        if (has_flash)
            qemu_plugin_register_vcpu_mem_cb(insn, memory_accessed, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, NULL);
        if (place == mark)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_executed, QEMU_PLUGIN_CB_NO_REGS, NULL);
        if (place == last)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, last_executed, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
    struct block **slot = &slots[(address >> 1 ^ count << 6) % SLOTS], *block = *slot;
    while (block != NULL && (block->address != address || block->instructions != count))
        block = block->same_slot;
    if (block == NULL) {
        block = allocate(sizeof *block);
        *block = (struct block){.id = newest == NULL ? 1 : newest->id + 1,
                                .address = address,
                                .instructions = count,
                                .bytes = bytes,
                                .same_slot = *slot,
                                .older = newest};
        *slot = newest = block;
        fprintf(output, "block %" PRIu32 " %" PRIx32 " %" PRIu32 "\n", block->id, address, count);
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, block_executed, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void ended(qemu_plugin_id_t id, void *user)
{
    (void)id, (void)user;
    finish();
}

static const char *value_of(const char *argument, const char *name)
{
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

/* Arguments: output=FILE, mark=ADDRESS; last=ADDRESS of a function whose second execution ends the counting;
   flash=CHIP to count reads of flash, see flash_begin. */
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    plugin = id;
    for (int i = 0; i < argc; ++i) {
        const char *value;
        if ((value = value_of(argv[i], "output")) != NULL)
            output = fopen(value, "w");
        else if ((value = value_of(argv[i], "mark")) != NULL)
            mark = strtoull(value, NULL, 0);
        else if ((value = value_of(argv[i], "last")) != NULL)
            last = strtoull(value, NULL, 0);
        else if ((value = value_of(argv[i], "flash")) != NULL) {
            has_flash = flash_begin(value);
            if (!has_flash)
                return 1;
        }
    }
    if (output == NULL || mark == 0)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
