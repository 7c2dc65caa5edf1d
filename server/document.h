/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `fairlead-server show` reports, as one JSON document that is the same for both forms. The table and Prometheus
 * text are printed from it, so that all outputs agree.
 *
 *	form, version, interface (null with the module), config, counters, services, quietSecondsLeft,
 *	flows (null without mangle)
 *
 * A service has its generation, and its load if an agent has told it.
 */
#ifndef FAIRLEAD_DOCUMENT_H
#define FAIRLEAD_DOCUMENT_H

#include <jansson.h>

#include "load.h"
#include "server.h"

/* In the order of -o's words. */
enum document_format {
	DOCUMENT_TABLE,
	DOCUMENT_JSON,
	DOCUMENT_PROMETHEUS,
};

/* Lists of prefixes by what they were given as. */
struct document_peers {
	json_t *peers, *muxes, *servers;
};

void document_peers_add(struct document_peers *peers, const struct fl_peer *peer);

/* mode: "native", "generic" or "module". Takes ownership of peers. */
json_t *document_config(const struct fl_server_config *config, struct document_peers peers, const char *mode);
json_t *document_counters(const fl_u64 values[FL_COUNTERS]);
void document_service_add(json_t *services, fl_u32 service, fl_u32 generation);

/* Adds the load of a service that has been added; nothing if it was never set. */
void document_load_add(json_t *services, fl_u32 service, const struct fl_load_setting *setting,
		       const struct fl_load_state *state);

/* The parts of a document. form: "bpf" or "module". version: of the running form, if known. */
struct document_parts {
	const char *form, *version, *interface;
	json_t *config, *counters, *services;
	json_int_t quiet_left; /* seconds */
	json_int_t flows;      /* remembered connections to VIPs; -1: none are */
};

/* Takes ownership of the parts; NULL if one of them is NULL or memory runs out. */
json_t *document_make(const struct document_parts *parts);

void document_print(const json_t *document, enum document_format format);
/*
 * In Prometheus' text format 0.0.4, for node_exporter's textfile collector. Both forms have the same metrics. Every sample
 * has the label interface, which is empty for the module.
 */
void prometheus_print(const json_t *document);

#endif
