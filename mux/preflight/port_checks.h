/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a port suits the mux: its state, queues, offloads, driver and MTU. */
#ifndef FAIRLEAD_MUX_PORT_CHECKS_H
#define FAIRLEAD_MUX_PORT_CHECKS_H

#include "preflight/report.h"

struct ports;

/* The kernel's side of one --port. */
void preflight_port(struct preflight *preflight, const struct options *options, const char *port);

/* Checks ports that only DPDK can inspect, once they are open. */
void preflight_devices(struct preflight *preflight, const struct options *options, const struct ports *ports);

#endif
