/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's metrics in Prometheus' text format. Each has one row in the table of metrics.c, except a worker's counter
 * without labels, which is fully described by its entry in packet/counters.h.
 */
#ifndef FAIRLEAD_MUX_METRICS_H
#define FAIRLEAD_MUX_METRICS_H

#include <stdio.h>

#include "observe/sources.h"

void metrics_write(FILE *out, const struct sources *from);

#endif
