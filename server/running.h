/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that is attached, reached from its interface: interface -> XDP program -> maps. Used to show it, and to
 * hand its memory on to the program that replaces it.
 *
 * Nothing is pinned in bpffs. The interface holds the program and the program holds its maps and its configuration,
 * so that all of it lives as long as the interface has the program, is seen from every mount namespace (`ip netns
 * exec` gives each command a /sys of its own), and is gone with the interface or its network namespace.
 */
#ifndef FAIRLEAD_RUNNING_H
#define FAIRLEAD_RUNNING_H

#include <net/if.h>

#include "server.h"

struct running {
	char interface[IF_NAMESIZE];
	unsigned int ifindex;
	const char *mode; /* "native" or "generic"; NULL if nothing is attached */
	int program;      /* descriptors, -1 for none */
	int memory;
	int generations;
	int counters;
	int peers;
	struct fl_server_config config;
};

/*
 * Opens what runs at an interface of this network namespace. Returns 0, also when nothing runs there; or a negative
 * errno and a printed sentence, which is also the answer to a foreign program. Close it in every case.
 */
int running_open(struct running *running, const char *interface);

/* Whether maps and configuration can be used: -ENOENT if nothing runs, -EPROTO if another version does; says so. */
int running_check(const struct running *running);
void running_close(struct running *running);

#endif
