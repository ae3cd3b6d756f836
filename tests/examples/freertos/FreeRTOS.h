/* Stands for FreeRTOS on this computer: what the example uses of it, with a thread for each task. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint32_t StackType_t;
typedef struct {
    pthread_t thread;
    sem_t given;
    void (*function)(void *);
} StaticTask_t;

#define pdTRUE 1
#define portMAX_DELAY 0xffffffffu
