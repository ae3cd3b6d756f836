/* Placement of the static executor's arena; included before static_executor.c. */
#ifndef CMBUILD_ARENA_H
#define CMBUILD_ARENA_H

#ifdef CONFIG_CMBUILD_ARENA_CHOSEN
#include <zephyr/devicetree.h>
#include <zephyr/linker/devicetree_regions.h>

#define CM_ARENA __attribute__((section(LINKER_DT_NODE_REGION_NAME(DT_CHOSEN(cmbuild_arena)))))
#endif

#endif
