/* SPDX-License-Identifier: Apache-2.0 */
/* The node `loads` of a service: how loaded its servers are by their agents' reports (protocol/README.md, 4). */
#ifndef FAIRLEAD_MUX_LOADS_NODE_H
#define FAIRLEAD_MUX_LOADS_NODE_H

#include <stddef.h>

#include "config/reason.h"
#include "steering/maat/loads.h"

/* out: by id, negative for those that the node lacks. -EINVAL and why if it is malformed; out is then undefined. */
int loads_node_parse(const char *json, size_t len, float out[MAAT_IDS], struct reason *why);

#endif
