/* Zephyr as a host: its console. Streams are test vectors: runtime/vectors/host.c. */
#include "cmrt/host.h"

#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

void cm_host_print(const char *text)
{
    printk("%s", text);
}

void cm_host_greet(const char *text)
{
    cm_host_print(text);
}

/* The previous record has the status; other threads, such as a shell, keep running. */
void cm_host_exit(int status)
{
    ARG_UNUSED(status);
    for (;;)
        k_sleep(K_FOREVER);
}
