/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service's nodes of JSON in ZooKeeper (protocol/README.md section 4): `config`, and `loads`, how loaded its servers are by
 * their agents' reports.
 */
#ifndef FAIRLEAD_MUX_CONFIG_NODE_H
#define FAIRLEAD_MUX_CONFIG_NODE_H

#include "config/service_config.h"
#include "steering/maat/loads.h"

/*
 * Reads len bytes of JSON, the config node of the service called name. Returns -EINVAL and why, with *out unchanged, if
 * a key is missing, of another type or out of range, or the format is unknown. Unknown keys are ignored.
 */
int config_node_parse(const char *json, size_t len, const char *name, struct service_config *out, struct reason *why);

/* JSON that config_node_parse() reads as the same configuration, to be freed. NULL: no memory. */
char *config_node_print(const struct service_config *config);

/* out: by id, negative for those that the node lacks. -EINVAL and why if it is malformed; out is then undefined. */
int loads_node_parse(const char *json, size_t len, float out[MAAT_IDS], struct reason *why);

#endif
