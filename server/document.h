/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `fairlead-server show` reports, as one JSON document that is the same for both forms. The table and Prometheus
 * text are printed from it, so that all outputs agree.
 *
 *	form, version, interface (null with the module), config, counters, memory, services, clockErrorSeconds,
 *	moveAheadSecondsMax, quietSecondsLeft
 *
 * A service has its generation, and its load if an agent has told it.
 */
#ifndef FAIRLEAD_DOCUMENT_H
#define FAIRLEAD_DOCUMENT_H

#include <jansson.h>

#include "load.h"
#include "server.h"

enum document_format {
	DOCUMENT_TABLE,
	DOCUMENT_JSON,
	DOCUMENT_PROMETHEUS,
};

/* Buckets that are remembered, those of them in an open window, and the kernel memory that they take. */
struct document_memory {
	json_int_t entries, open, bytes;
};

/* Counts one bucket; now: Unix seconds, for whether its window is open. */
void document_memory_add(struct document_memory *memory, const struct fl_bucket_memory *bucket, fl_u64 now,
			 fl_u32 window);

/* mode: "native", "generic" or "module". quiet: seconds. Takes ownership of peers. */
json_t *document_config(const struct fl_server_config *config, json_int_t quiet, json_t *peers, const char *mode);
json_t *document_counters(const fl_u64 values[FL_COUNTERS]);
void document_service_add(json_t *services, fl_u32 service, fl_u32 generation);

/* Adds the load of a service that has been added; nothing if it was never set. now_ns: what document_clock() says. */
void document_load_add(json_t *services, fl_u32 service, const struct fl_load_setting *setting,
		       const struct fl_load_state *state, fl_u64 now_ns);
fl_u64 document_clock(void);

/* The parts of a document. form: "bpf" or "module". version: of the running form, if known. */
struct document_parts {
	const char *form, *version, *interface;
	json_t *config, *counters, *services;
	struct document_memory memory;
	json_int_t clock_error, ahead_max, quiet_left; /* seconds */
};

/* Takes ownership of the parts; NULL if one of them is NULL or memory runs out. */
json_t *document_make(const struct document_parts *parts);

void document_print(const json_t *document, enum document_format format);

#endif
