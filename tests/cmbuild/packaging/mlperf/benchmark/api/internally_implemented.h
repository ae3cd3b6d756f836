/* A stand-in for mlcommons/tiny's file of the same name: what a submission calls of it. */
#ifndef STAND_IN_INTERNALLY_IMPLEMENTED_H
#define STAND_IN_INTERNALLY_IMPLEMENTED_H

#include <stddef.h>
#include <stdint.h>

void ee_serial_callback(char);
void ee_serial_command_parser_callback(char *);
void ee_benchmark_initialize(void);
size_t ee_get_buffer(uint8_t *buffer, size_t max_len);

#endif
