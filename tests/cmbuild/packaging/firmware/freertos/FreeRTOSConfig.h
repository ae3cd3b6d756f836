/* A kernel without dynamic memory, with a tick of 1 kHz. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ 25000000
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configMAX_PRIORITIES 4
#define configMINIMAL_STACK_SIZE 256
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configUSE_TIMERS 0
#define configTIMER_TASK_STACK_DEPTH 256 /* of none: its declaration names it */
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 1
#define configCHECK_FOR_STACK_OVERFLOW 2
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 0
#define configENABLE_MPU 0
#define configENABLE_FPU 1
#define configENABLE_TRUSTZONE 0
#define configRUN_FREERTOS_SECURE_ONLY 1
#ifdef __ARM_FEATURE_MVE
#define configENABLE_MVE 1
#endif
/* Priorities of exceptions: 3 bits are implemented at least. */
#define configKERNEL_INTERRUPT_PRIORITY 0xe0
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x40
#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskDelete 1

void report_broken(const char *file, unsigned long line);
#define configASSERT(holds) ((holds) ? (void)0 : report_broken(__FILE__, __LINE__))

#endif
