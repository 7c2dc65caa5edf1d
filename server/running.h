/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An attached server, found from its interface: interface -> XDP program -> maps. Used to show it, and to pass on
 * what it has learned to the program that replaces it.
 *
 * Nothing is pinned in bpffs. The interface holds the program, and the program holds its maps and its configuration.
 * They exist as long as the program is attached, are visible from every mount namespace (`ip netns exec` gives each
 * command a /sys of its own), and are freed with the interface or its network namespace.
 */
#ifndef FAIRLEAD_RUNNING_H
#define FAIRLEAD_RUNNING_H

#include <linux/types.h>
#include <net/if.h>

#include "load.h"
#include "server.h"

struct running {
	char interface[IF_NAMESIZE];
	unsigned int ifindex;
	const char *mode; /* "native" or "generic"; NULL if nothing is attached */
	int program;      /* descriptors, -1 for none */
	int generations;
	int counters;
	int quiet;
	int peers;
	int load_settings;
	int load_states;
	struct fl_server_config config;
};

/* One that is not open, which may be closed. */
struct running running_none(void);

/*
 * Opens the server attached to an interface of this network namespace. Returns 0, also if none is attached; a negative
 * errno after printing a sentence, also if another XDP program is attached. Close it in every case.
 */
int running_open(struct running *running, const char *interface);

/* Returns 0 if maps and configuration can be used; after a printed sentence -ENOENT if no server is attached, -EPROTO
 * if another version's is. */
int running_check(const struct running *running);
void running_close(struct running *running);

enum {
	RUNNING_BATCH = 4096,
};

/*
 * Reads the next RUNNING_BATCH elements at most of a map; *cursor starts as NULL. Returns how many; sets *last at the
 * end of the map. Elements that were read may be deleted meanwhile.
 */
__u32 running_batch(int map, __u32 **cursor, __u32 *position, void *keys, void *values, bool *last);

#endif
