/* Reports the fault registers for the host to decode, and ends the run. */
#include "cmrt/host.h"
#include "cmrt/text.h"
#include "protect.h"

/* Armv7-M and Armv8-M Architecture Reference Manuals, "System Control Block". Armv6-M lacks these registers
   and reads them as zero. */
static const volatile uint32_t *const fault_status = (const volatile uint32_t *)0xe000ed28;
enum { CFSR = 0, HFSR = 1, MMFAR = 3, BFAR = 4 };
enum { MSTKERR = 1 << 4, STKERR = 1 << 12, STKOF = 1 << 20 };

/* The frame that exception entry pushes: r0-r3, r12, lr, pc, xpsr. */
enum { FRAME_WORDS = 8 };

enum { FAULT_STATUS = 98 };

extern const uint32_t cm_stack_top[];

__attribute__((noreturn)) void cm_report_fault(const uint32_t *frame, uint32_t exception_return);

static uint32_t exception_number(void)
{
    uint32_t ipsr;
    __asm__("mrs %0, ipsr" : "=r"(ipsr));
    return ipsr;
}

static void report(const char *name, uint32_t value)
{
    struct cm_text text;
    cm_text_begin(&text, "fault");
    cm_text_word(&text, name);
    cm_text_number(&text, value);
    cm_text_send(&text);
}

void cm_report_fault(const uint32_t *frame, uint32_t exception_return)
{
    report("exception", exception_number());
    report("return", exception_return);
    report("cfsr", fault_status[CFSR]);
    report("hfsr", fault_status[HFSR]);
    report("mmfar", fault_status[MMFAR]);
    report("bfar", fault_status[BFAR]);
    report("sp", (uint32_t)(uintptr_t)frame);
    report("limit", (uint32_t)(uintptr_t)cm_stack_begin());
    /* After a stack overflow there may be no frame. */
    uint32_t unsaved = fault_status[CFSR] & (MSTKERR | STKERR | STKOF);
    if (unsaved == 0 && frame >= cm_stack_begin() && frame + FRAME_WORDS <= cm_stack_top) {
        static const char *const names[FRAME_WORDS] = {"r0", "r1", "r2", "r3", "r12", "lr", "pc", "psr"};
        for (int i = 0; i < FRAME_WORDS; ++i)
            report(names[i], frame[i]);
    }
    cm_host_exit(FAULT_STATUS);
}
