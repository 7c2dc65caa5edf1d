/* SPDX-License-Identifier: Apache-2.0 */
/* How connections fare on this server: what eBPF programs (signals.bpf.c) count for the census. */
#ifndef FAIRLEAD_AGENT_SIGNALS_H
#define FAIRLEAD_AGENT_SIGNALS_H

#include "census.h"

struct events;
struct signals;

/* NULL: *why is a sentence's end. The addresses and ports are those that the events pass. */
struct signals *signals_open(const struct events *events, const char **why);
void signals_close(struct signals *signals);

/* A bit for each signal that the kernel tells, by its number. */
unsigned signals_known(const struct signals *signals);

/* Adds what was counted since the last call to the census. Returns 0 or a negative errno. */
int signals_read(struct signals *signals, struct census *census);

#endif
