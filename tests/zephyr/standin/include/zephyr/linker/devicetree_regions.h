#pragma once
#include <zephyr/devicetree.h>
#define STANDIN_CAT(a, b) a##b
#define STANDIN_REGION(node) STANDIN_CAT(REGION_, node)
#define STANDIN_STRING(x) #x
#define STANDIN_STRINGIFY(x) STANDIN_STRING(x)
#define LINKER_DT_NODE_REGION_NAME_TOKEN(node) STANDIN_REGION(node)
#define LINKER_DT_NODE_REGION_NAME(node) STANDIN_STRINGIFY(LINKER_DT_NODE_REGION_NAME_TOKEN(node))
