/* SPDX-License-Identifier: Apache-2.0 */
/* Events of connections that open and close, from the kernel by eBPF. */
#ifndef FAIRLEAD_AGENT_EVENTS_H
#define FAIRLEAD_AGENT_EVENTS_H

#include "census.h"

struct events;

/* NULL: *why is a sentence's end, such as "the kernel has no BTF". */
struct events *events_open(const char **why);
void events_close(struct events *events);

/* Lets pass the events of these services, and of no others. Returns 0 or a negative errno. */
int events_serve(struct events *events, const struct services *services);

/* To be polled for reading. */
int events_fd(const struct events *events);

/* Reads all events that the kernel has sent. Returns how many, or a negative errno. */
int events_read(struct events *events, struct census *census);

/* Maps of the addresses and the ports whose events pass. */
int events_addresses(const struct events *events);
int events_ports(const struct events *events);

/* How many found no room since the program was loaded. */
fl_u64 events_lost(const struct events *events);

#endif
