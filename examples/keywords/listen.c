/* A microphone's frames, one by one, through the package that
 * `cmbuild package keywords --target cortex-m4 --output-dir keywords_c --name keywords` writes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "keywords.h"

enum { BANDS = KEYWORDS_INPUT_FRAME_COUNT, FRAMES = 12, CLIPS = 6 };

static const char *const words[] = {"nothing", "up", "down"};

static KEYWORDS_ARENA(arena);
static struct keywords listener;
static unsigned now;

/* Stands for the driver: band energies of the next 20 ms. A tone goes up, then down, and so on. */
static void microphone(float *bands)
{
    unsigned clip = now / FRAMES, frame = now % FRAMES;
    float time = (float)frame / (float)(FRAMES - 1);
    float pitch = (clip % 2 == 0 ? time : 1.0f - time) * (float)(BANDS - 1);
    for (int band = 0; band < BANDS; ++band)
        bands[band] = 0.15f + expf(-((float)band - pitch) * ((float)band - pitch));
    ++now;
}

static int best(const float *scores)
{
    int word = 0;
    for (int i = 1; i < 3; ++i)
        if (scores[i] > scores[word])
            word = i;
    return word;
}

int main(void)
{
    if (keywords_init(&listener, arena, sizeof arena) != KEYWORDS_OK)
        return 1;
    keywords_reset(&listener);
    while (now < CLIPS * FRAMES) {
        float bands[BANDS];
        microphone(bands);
        memcpy(keywords_input_frame(&listener), bands, sizeof bands);
        if (keywords_run(&listener) != KEYWORDS_OK)
            return 1;
        if (now % FRAMES == 0) /* a word has ended */
            printf("%s\n", words[best(keywords_output_0(&listener))]);
    }
    return 0;
}
