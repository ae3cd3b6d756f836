/* A stand-in for mlcommons/tiny's file of the same name: the commands that its runner sends, ended by `%`,
   and their answers, ended by m-ready. */
#include "api/internally_implemented.h"

#include "api/submitter_implemented.h"

static char command[81];
static size_t typed;
static uint8_t buffer[MAX_DB_INPUT_SIZE];
static size_t expected, filled;

void ee_serial_callback(char c)
{
    if (c == '%') {
        command[typed] = '\0';
        typed = 0;
        th_command_ready(command);
    } else if (typed < sizeof command - 1) {
        command[typed++] = c;
    }
}

void ee_benchmark_initialize(void)
{
    th_serialport_initialize();
    th_timestamp_initialize();
    th_final_initialize();
    th_printf("m-init-done\r\n");
    th_printf("m-ready\r\n");
}

size_t ee_get_buffer(uint8_t *to, size_t most)
{
    size_t bytes = filled < most ? filled : most;
    th_memcpy(to, buffer, bytes);
    return bytes;
}

static void infer(size_t measured, size_t before)
{
    th_load_tensor();
    th_printf("m-warmup-start-%d\r\n", before);
    while (before-- > 0)
        th_infer();
    th_printf("m-warmup-done\r\n");
    th_printf("m-infer-start-%d\r\n", measured);
    th_timestamp();
    th_pre();
    while (measured-- > 0)
        th_infer();
    th_post();
    th_timestamp();
    th_printf("m-infer-done\r\n");
    th_results();
}

static void load(const char *digits)
{
    for (; filled < expected && digits[0] != '\0'; digits += 2) {
        const char pair[] = {digits[0], digits[1], '\0'};
        buffer[filled++] = (uint8_t)strtol(pair, NULL, 16);
    }
    if (filled == expected)
        th_printf("m-load-done\r\n");
}

void ee_serial_command_parser_callback(char *text)
{
    char *word = th_strtok(text, " ");
    char *first = th_strtok(NULL, " ");
    char *second = th_strtok(NULL, " ");
    if (strcmp(word, "name") == 0) {
        th_printf("m-name-%s-[%s]\r\n", "dut", TH_VENDOR_NAME_STRING);
    } else if (strcmp(word, "timestamp") == 0) {
        th_timestamp();
    } else if (strcmp(word, "profile") == 0) {
        th_printf("m-profile-[%s]\r\n", "stand-in");
        th_printf("m-model-[%s]\r\n", TH_MODEL_VERSION);
    } else if (strcmp(word, "db") == 0 && strcmp(first, "load") == 0) {
        expected = (size_t)th_atoi(second);
        filled = 0;
        th_printf("m-[Expecting %d bytes]\r\n", expected);
    } else if (strcmp(word, "db") == 0 && strcmp(first, "print") == 0) {
        for (size_t i = 0; i < filled; ++i)
            th_printf("%02x", buffer[i]);
        th_printf("\r\n");
    } else if (strcmp(word, "db") == 0) {
        load(first);
    } else if (strcmp(word, "infer") == 0) {
        infer((size_t)th_atoi(first), second == NULL ? 10 : (size_t)th_atoi(second));
    } else if (strcmp(word, "results") == 0) {
        th_results();
    } else {
        th_printf("e-[Unknown command: %s]\r\n", word);
    }
    th_printf("m-ready\r\n");
}
