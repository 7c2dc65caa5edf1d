/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `hunt`: service hunting, after 6LB (Desmouceaux et al., IEEE/ACM ToN 2018). A connection has two buckets of
 * its service's ring, by the halves of its hash. Its packets go to the first one's owner and name the second; that
 * owner may pass a new connection on if it is busy, and passes on what it does not know (protocol/README.md, 3). The mux
 * knows nothing of the servers' load and remembers nothing.
 */
#ifndef FAIRLEAD_MUX_STEERING_HUNT_H
#define FAIRLEAD_MUX_STEERING_HUNT_H

#include "steering/steering.h"

extern const struct steering steering_hunt;

/* What `hunt` and `maat` require of a configuration. */
int hunt_check(const struct service_config *config, struct reason *why);

/* Adds a TCP flow's second bucket to an explanation. */
void hunt_explain(const struct service *service, const struct flow *flow, struct explanation *out);

#endif
