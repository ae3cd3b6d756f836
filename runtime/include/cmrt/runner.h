/* The protocol between host and runner. cmbuild/launchers/execution.py is the host's side.

   The host writes the streams `request` (one struct cm_request), `input0`, `input1`, … (the bytes of an
   input, sample after sample) and `watch` (struct cm_watch, ordered by step). The runner
   appends to `output0`, … and `trace` (the watched bytes, sample after sample), and prints
   these records, with numbers in hexadecimal:

     cmrt runner <version> <executor> <identity>
     cmrt model <inputs> <outputs> <steps> <arena bytes>
     cmrt step <sample> <step> <ticks>      for the first `profiled` samples
     cmrt sample <sample> <ticks>           the sum over all steps
     cmrt pool <name> <bytes used> <bytes>  the most used of an executor's pool
     cmrt error <reason>
     cmrt stack <bytes used> <bytes reserved>
     cmrt end <status>                      the last line of every complete run */
#ifndef CMRT_RUNNER_H
#define CMRT_RUNNER_H

#include <stdint.h>

#define CM_RUNNER_VERSION 2

struct cm_request {
    uint32_t version;
    uint32_t samples;
    uint32_t profiled;
    uint32_t watches;
    uint32_t watched; /* the first watched sample */
    uint32_t reset;   /* not 0: reset mutable buffers before every sample, not only the first */
};

/* Report `bytes` bytes at `place` after `step`. */
struct cm_watch {
    uint32_t step, place, bytes;
};

#endif
