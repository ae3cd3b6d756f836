/* A camera's lines, one by one, through the package that
 * `cmbuild package person --target cortex-m4 --output-dir person_c` writes. */
#include <stdio.h>

#include "person.h"

enum { SIZE = 48 };

static PERSON_ARENA(arena);
static struct person model;

/* Stands for the driver: a grey line with a head above a body, or nothing. */
static void line(int y, int is_person, int8_t *pixels)
{
    for (int x = 0; x < SIZE; ++x) {
        float grey = -0.15f;
        int head = (y - 11) * (y - 11) + (x - 24) * (x - 24) < 16;
        int body = 25 * (y - 24) * (y - 24) + 81 * (x - 24) * (x - 24) < 2025;
        if (is_person && (head || body))
            grey += 0.6f;
        pixels[x] = person_input_input_quantize(grey);
    }
}

static int shows_person(int is_person)
{
    enum person_status status = PERSON_WAITING;
    int8_t pixels[SIZE];

    for (int y = 0; y < SIZE; ++y) {
        line(y, is_person, pixels);
        status = person_push_rows_input(&model, pixels, 1);
    }
    if (status != PERSON_OK)
        return -1;
    return person_output_0(&model)[1] > person_output_0(&model)[0];
}

int main(void)
{
    if (person_init(&model, arena, sizeof arena) != PERSON_OK)
        return 1;
    for (int i = 0; i < 4; ++i)
        printf("%s\n", shows_person(i % 2) == 1 ? "person" : "nobody");
    return 0;
}
