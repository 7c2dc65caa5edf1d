/* SPDX-License-Identifier: Apache-2.0 */
/* What the control thread asks a service (flow/service.h). */
#ifndef FAIRLEAD_MUX_SERVICE_H
#define FAIRLEAD_MUX_SERVICE_H

#include "flow/service.h"

/* What its rows go by. Control thread. */
struct ring_rule service_ring_rule(const struct service *service);

/* The flow hash of a connection under a service's hash, key and affinity. */
uint64_t service_flow_hash(const struct service *service, const struct flow *flow);

/*
 * Explains a flow from the same ring and hash as the packet path, by the method's bucket, and flags what only a worker
 * or a packet can show. -ENOENT: no ring is loaded. Control thread.
 */
int service_explain(const struct service *service, const struct flow *flow, struct explanation *out);

#endif
