/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's metrics in Prometheus' text format: metrics.c, and peer_metrics.c what is known from other muxes and
 * servers. A worker's counter without labels is fully described by its entry in packet/counters.h.
 */
#ifndef FAIRLEAD_MUX_METRICS_H
#define FAIRLEAD_MUX_METRICS_H

#include "observe/exposition.h"
#include "observe/sources.h"

void metrics_write(FILE *out, const struct sources *from);
void peer_metrics_write(struct exposition *to, const struct sources *from);

#endif
