/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's metrics in Prometheus' text format. Each has one row in the table of metrics.c, or of peer_metrics.c what is
 * known from other muxes and servers, except a worker's counter without labels, which is fully described by its entry in
 * packet/counters.h.
 */
#ifndef FAIRLEAD_MUX_METRICS_H
#define FAIRLEAD_MUX_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "observe/sources.h"

struct service_sync;

/* A metric; one of value, write and service is set, or it is a port's. */
struct metric {
	const char *name, *type, *help;
	uint64_t (*value)(const struct sources *from);                                 /* one sample without labels */
	void (*write)(FILE *out, const char *name, const struct sources *from);        /* any samples */
	void (*service)(FILE *out, const char *name, const struct service_sync *sync); /* the samples of one service */
	size_t device; /* one sample for each port: where it is in struct rte_eth_stats */
	bool (*is_there)(const struct sources *from); /* NULL: always */
};

extern const struct metric peer_metrics[];
extern const size_t peer_metrics_count;

void metrics_write(FILE *out, const struct sources *from);

/* A sample with one label. */
void metrics_sample(FILE *out, const char *name, const char *label, const char *value, uint64_t number);

#endif
