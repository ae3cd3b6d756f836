/* Netduino Plus 2: an STM32F405 in its reset state, at 16 MHz from the internal oscillator. Input and output
   go through the debug probe. */
#include "cmrt/board.h"

/* STM32F405 reference manual (RM0090): "RCC APB1 peripheral clock enable register", "TIM2 to TIM5". */
static volatile uint32_t *const clock_enable = (volatile uint32_t *)0x40023840;
static volatile uint32_t *const timer = (volatile uint32_t *)0x40000000;
enum { TIM2EN = 1 << 0 };
enum { CR1 = 0x00 / 4, CNT = 0x24 / 4, ARR = 0x2c / 4 };
enum { CEN = 1 << 0 };

static uint32_t last;
static uint64_t total;

void cm_board_init(void)
{
    *clock_enable |= TIM2EN;
    (void)*clock_enable; /* the timer's clock runs two cycles after the write */
    timer[ARR] = UINT32_MAX;
    timer[CR1] = CEN;
    last = timer[CNT];
}

uint64_t cm_board_ticks(void)
{
    uint32_t now = timer[CNT];
    total += now - last;
    last = now;
    return total;
}
