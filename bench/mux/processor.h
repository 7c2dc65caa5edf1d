/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions and cycles, for machines whose counters are not to be had. */
#ifndef FAIRLEAD_BENCH_PROCESSOR_H
#define FAIRLEAD_BENCH_PROCESSOR_H

#include <stdint.h>

/* How many instructions run(context) takes, with its call; negative: not on this architecture. About 1 us for each. */
int64_t processor_steps(void (*run)(void *context), void *context);

/* ns of a core's cycle now; 0: not on this architecture. */
double processor_cycle(void);

#endif
