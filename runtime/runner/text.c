#include "cmrt/text.h"

#include "cmrt/host.h"

static void add(struct cm_text *text, char character)
{
    if (text->length < CM_TEXT_BYTES - 2) /* room for the newline and the end */
        text->line[text->length++] = character;
}

static void add_all(struct cm_text *text, const char *characters)
{
    while (*characters != '\0')
        add(text, *characters++);
}

void cm_text_begin(struct cm_text *text, const char *kind)
{
    text->length = 0;
    add_all(text, "cmrt");
    cm_text_word(text, kind);
}

void cm_text_word(struct cm_text *text, const char *word)
{
    add(text, ' ');
    add_all(text, word);
}

void cm_text_number(struct cm_text *text, uint64_t number)
{
    int shift = 60;
    while (shift > 0 && (number >> shift) == 0)
        shift -= 4;
    add(text, ' ');
    for (; shift >= 0; shift -= 4)
        add(text, "0123456789abcdef"[(number >> shift) & 15]);
}

const char *cm_text_end(struct cm_text *text)
{
    text->line[text->length++] = '\n';
    text->line[text->length] = '\0';
    return text->line;
}

void cm_text_send(struct cm_text *text)
{
    cm_host_print(cm_text_end(text));
}
