/* CMBUILD_ARENA places an arena in the memory that the configuration names:
 *
 *     static CMBUILD_ARENA KWS_ARENA(arena);
 */
#ifndef CMBUILD_ARENA_H
#define CMBUILD_ARENA_H

#ifdef CONFIG_CMBUILD_ARENA_CHOSEN
#include <zephyr/devicetree.h>
#include <zephyr/linker/devicetree_regions.h>

#define CMBUILD_ARENA __attribute__((section(LINKER_DT_NODE_REGION_NAME(DT_CHOSEN(cmbuild_arena)))))
#else
#define CMBUILD_ARENA
#endif

#endif
