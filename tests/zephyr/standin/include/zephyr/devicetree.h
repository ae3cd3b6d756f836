/* The overlay's chosen nodes are in the generated header. */
#pragma once
#include "devicetree_generated.h"
#define DT_CHOSEN(name) DT_CHOSEN_##name
