/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the mux's own node in ZooKeeper (protocol/README.md section 4). */
#ifndef FAIRLEAD_MUX_NODE_H
#define FAIRLEAD_MUX_NODE_H

#include <jansson.h>

#include "control/cluster_sync.h"

/* What never changes: who and where the mux is. NULL: no memory. */
json_t *mux_node_begin(const struct cluster_sync_options *options);

/* The node's text with the present state of all services, to be freed. NULL: no memory. */
char *mux_node_print(json_t *self, const struct cluster_sync *cluster);

/*
 * Whether a node's text is of a mux in the place of self: one of its outer sources is. Writes the node's outer sources
 * into address, "none" if it has none.
 */
bool mux_node_is_place(const json_t *self, const char *text, char *address, size_t size);

#endif
