/* See FreeRTOS.h. */
typedef StaticTask_t *TaskHandle_t;

static TaskHandle_t task_all[8];
static int task_count;
static _Thread_local TaskHandle_t task_self;

static inline TaskHandle_t xTaskCreateStatic(void (*function)(void *), const char *name, uint32_t words,
                                             void *argument, int priority, StackType_t *stack,
                                             StaticTask_t *memory)
{
    (void)name, (void)words, (void)argument, (void)priority, (void)stack;
    memory->function = function;
    sem_init(&memory->given, 0, 0);
    task_all[task_count++] = memory;
    return memory;
}

static inline void *task_start(void *task)
{
    task_self = task;
    task_self->function(NULL);
    return NULL;
}

static inline void vTaskStartScheduler(void)
{
    for (int i = 0; i < task_count; ++i)
        pthread_create(&task_all[i]->thread, NULL, task_start, task_all[i]);
    for (int i = 0; i < task_count; ++i)
        pthread_join(task_all[i]->thread, NULL);
}

static inline void vTaskEndScheduler(void)
{
    exit(0);
}
static inline void vTaskDelete(TaskHandle_t task)
{
    (void)task, exit(1);
}
static inline void xTaskNotifyGive(TaskHandle_t task)
{
    sem_post(&task->given);
}

static inline uint32_t ulTaskNotifyTake(int clear, uint32_t ticks)
{
    (void)clear, (void)ticks;
    return (uint32_t)sem_wait(&task_self->given);
}
