/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the mux that HTTP answers report on. They must outlive the server. */
#ifndef FAIRLEAD_MUX_SOURCES_H
#define FAIRLEAD_MUX_SOURCES_H

#include <stdbool.h>

struct sources {
	const char *id; /* --id */
	const struct cluster_sync *cluster;
	const struct tables *tables;
	const struct counters *counters;
	const struct change_log *changes;
	const struct teller *teller;
	const struct ports *ports;
	const struct announcer *announcer;   /* NULL: none */
	const struct neighbours *neighbours; /* NULL: none */
	const struct hello *hello;           /* NULL: none */
	struct sampler *sampler;             /* NULL: none */
	bool has_tokens;                     /* --http asks for one */
	bool samples_for_all;                /* whoever --http answers may see packets */
	unsigned unprotected;                /* protection_missing() */
	const char *pipeline;                /* how it runs; NULL: none */
};

/* Each service of the cluster, as sync. */
#define SOURCES_EACH_SERVICE(from, sync)                                                                               \
	for (const struct service_sync *sync = cluster_sync_next((from)->cluster, NULL); sync;                         \
	     sync = cluster_sync_next((from)->cluster, sync))

#endif
