#pragma once
#include <zephyr/sys/printk.h>
#ifdef CONFIG_LOG
#define LOG_MODULE_REGISTER(name, level) static const int log_level = level
#define LOG_INF(...) ((void)(log_level >= 3 && (printk("<inf> " __VA_ARGS__), printk("\n"), 1)))
#else
#define LOG_MODULE_REGISTER(name, ...) extern int log_nothing
#define LOG_INF(...) ((void)(0 && (printk(__VA_ARGS__), 1)))
#endif
