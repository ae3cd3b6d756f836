/* What the host and the runner say to each other. cmbuild/launchers/execution.py is the other side.

   The host writes the streams `request` (one struct cm_request), `input0`, `input1`, … (the bytes of an
   input for one sample after the other) and `watch` (struct cm_watch, ordered by step). The runner
   appends to `output0`, … and `trace` (what the watches saw, for one sample after the other), and prints
   these records, numbers in hexadecimal:

     cmrt runner <version> <executor> <identity>
     cmrt model <inputs> <outputs> <steps> <arena bytes>
     cmrt step <sample> <step> <ticks>      for the first `profiled` samples
     cmrt sample <sample> <ticks>           the sum over all steps
     cmrt pool <name> <bytes used> <bytes>  memory that the executor allocated from, at its fullest
     cmrt error <reason>
     cmrt stack <bytes used> <bytes reserved>
     cmrt end <status>                      the last line of every run that came to its end */
#ifndef CMRT_RUNNER_H
#define CMRT_RUNNER_H

#include <stdint.h>

#define CM_RUNNER_VERSION 2

struct cm_request {
    uint32_t version;
    uint32_t samples;
    uint32_t profiled;
    uint32_t watches;
    uint32_t watched; /* the first sample that the watches see */
    uint32_t reset;   /* not 0: mutable buffers begin anew with each sample, not with the first only */
};

/* `bytes` bytes at `place` are to be seen after `step`. */
struct cm_watch {
    uint32_t step, place, bytes;
};

#endif
