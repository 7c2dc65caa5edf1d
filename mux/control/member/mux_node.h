/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the mux's own node in ZooKeeper (protocol/README.md section 4). */
#ifndef FAIRLEAD_MUX_NODE_H
#define FAIRLEAD_MUX_NODE_H

#include <jansson.h>

#include "control/service/service_list.h"

struct mux_serves;
struct needs;
struct unreachable;

/* Who and where the mux is. */
struct mux_node_facts {
	const char *id;
	const char *kind;                 /* the word for the kind of mux; NULL: the usual one */
	const struct mux_serves *serves;  /* static; NULL: all services (serves.h) */
	const struct fl_address *address; /* outer sources; fl_address_is_none: it has none of the family */
	const struct fl_address *address6;
	unsigned ports_count;
	const char *const *ports; /* names for display */
	const char *metrics;      /* URL; NULL or empty: others can't read them */
};

/* What never changes; behind_seconds: 0 if nothing but ZooKeeper tells that the mux is behind. NULL: no memory. */
json_t *mux_node_begin(const struct mux_node_facts *facts, uint32_t behind_seconds);

/* The node's text with the present state of all services, to be freed. NULL: no memory. */
char *mux_node_print(json_t *self, const struct service_list *list, const struct needs *needs,
		     const struct unreachable *unreachable);

/*
 * Whether a node's text is of a mux in the place of self: one of its outer sources is. Writes the node's outer sources
 * into address, "none" if it has none.
 */
bool mux_node_is_place(const json_t *self, const char *text, char *address, size_t size);

#endif
