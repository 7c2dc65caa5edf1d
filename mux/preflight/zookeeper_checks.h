/* SPDX-License-Identifier: Apache-2.0 */
/* Whether ZooKeeper can be used: server names, TCP, a session, and whether this mux may read the root. */
#ifndef FAIRLEAD_MUX_ZOOKEEPER_CHECKS_H
#define FAIRLEAD_MUX_ZOOKEEPER_CHECKS_H

#include "preflight/report.h"

enum preflight_times {
	PREFLIGHT_CONNECT_MS = 2000, /* for a TCP connection to a server */
	PREFLIGHT_SESSION_MS = 5000, /* for a session and the reads in it */
};

/* Takes up to PREFLIGHT_SESSION_MS, and PREFLIGHT_CONNECT_MS for each server. */
void preflight_zookeeper(struct preflight *preflight, const struct options *options);

#endif
