/* The host interface's streams, served from test vectors for images without a host: outputs are compared, not
   stored. */
#include <string.h>

#include "cmrt/host.h"
#include "cmrt/runner.h"
#include "cmrt/text.h"
#include "cmrt/vectors.h"
#include "model.h"

/* The first 16 streams have one hexadecimal digit in their names; more inputs are not supported. */
enum { MOST_OUTPUTS = 16 };
static uint32_t appended[MOST_OUTPUTS]; /* bytes */

/* The number after a prefix, or -1 for another name. */
static int32_t numbered(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || name[length] == '\0' || name[length + 1] != '\0')
        return -1;
    const char *digits = "0123456789abcdef", *digit = strchr(digits, name[length]);
    return digit == NULL ? -1 : (int32_t)(digit - digits);
}

bool cm_host_read(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    if (strcmp(name, "request") == 0) {
        struct cm_request request = {
            .version = CM_RUNNER_VERSION,
            .samples = CM_MODEL_VECTORS.samples,
            .profiled = 1,
            .reset = 1,
        };
        if (offset != 0 || bytes != sizeof request)
            return false;
        memcpy(data, &request, sizeof request);
        return true;
    }
    int32_t index = numbered(name, "input");
    if (index < 0 || (uint32_t)index >= CM_MODEL_VECTORS.input_count)
        return false;
    const struct cm_stream *stream = &CM_MODEL_VECTORS.inputs[index];
    if (offset + bytes > CM_MODEL_VECTORS.samples * stream->bytes)
        return false;
    memcpy(data, stream->data + offset, bytes);
    return true;
}

bool cm_host_append(const char *name, const void *data, uint32_t bytes)
{
    int32_t index = numbered(name, "output");
    if (index < 0 || (uint32_t)index >= CM_MODEL_VECTORS.output_count)
        return false;
    const struct cm_stream *stream = &CM_MODEL_VECTORS.outputs[index];
    uint32_t offset = appended[index];
    if (bytes > CM_MODEL_VECTORS.samples * stream->bytes - offset)
        return false;
    appended[index] += bytes;
    if (cm_vectors_match(stream->rule, data, stream->data + offset, bytes))
        return true;
    struct cm_text text;
    cm_text_begin(&text, "mismatch");
    cm_text_number(&text, offset / stream->bytes);
    cm_text_number(&text, (uint32_t)index);
    cm_text_send(&text);
    return false;
}
