/* Lines of text without stdio: words and hexadecimal numbers, one record a line. */
#ifndef CMRT_TEXT_H
#define CMRT_TEXT_H

#include <stdint.h>

#define CM_TEXT_BYTES 160

/* A line under construction, truncated to its buffer. */
struct cm_text {
    char line[CM_TEXT_BYTES];
    uint32_t length;
};

/* Starts a record, which the host recognises by its first word: `cmrt <kind>`. */
void cm_text_begin(struct cm_text *text, const char *kind);

/* Adds ` word`. */
void cm_text_word(struct cm_text *text, const char *word);

/* Adds ` ` and the number in hexadecimal. */
void cm_text_number(struct cm_text *text, uint64_t number);

/* Ends the line; returns it. */
const char *cm_text_end(struct cm_text *text);

/* Ends the line and prints it. */
void cm_text_send(struct cm_text *text);

#endif
