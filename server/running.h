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

#include <bpf/libbpf.h>
#include <net/if.h>

#include "load.h"
#include "server.h"

/* The program's maps that the command reads or writes. */
enum running_map {
	RUNNING_GENERATIONS,
	RUNNING_COUNTERS,
	RUNNING_QUIET,
	RUNNING_PEERS,
	RUNNING_LOAD_SETTINGS,
	RUNNING_LOAD_STATES,
	RUNNING_MAPS,
};

struct running {
	char interface[IF_NAMESIZE];
	unsigned int ifindex;
	const char *mode;       /* "native" or "generic"; NULL if nothing is attached */
	int program;            /* a descriptor, -1 for none, as are these */
	int maps[RUNNING_MAPS]; /* by enum running_map */
	struct fl_server_config config;
};

/* One that is not open, which may be closed. */
struct running running_none(void);

/*
 * Opens the server attached to an interface of this network namespace. Returns 0, also if none is attached; a negative
 * errno after printing a sentence, also if another XDP program is attached. Close it in every case.
 */
int running_open(struct running *running, const char *interface);

/* Returns 0 if a server is attached, of any version; else -ENOENT after a printed sentence. */
int running_is_there(const struct running *running);

/* The same, if its maps and configuration can be used; -EPROTO if another version's is attached. */
int running_check(const struct running *running);
void running_close(struct running *running);

/* Has a program that is not loaded yet use the maps that outlive the one that it replaces. Returns 0 or a negative errno. */
int running_hand_over(const struct running *running, const struct bpf_object *program);

/* Makes it forget a service; *generation is what it had seen, 0 for none. Returns 0 or a negative errno. */
int running_forget(const struct running *running, fl_u16 service, fl_u32 *generation);

/* Has a program reset nothing from now on, by its map `quiet`. Returns 0 or a negative errno. */
int running_quiet_begin(int map, fl_u32 seconds);

/* How many seconds it still is quiet, rounded up. */
fl_u32 running_quiet_left(const struct running *running);

/* Prints what cannot be done, and why; returns err. */
int running_fail(const struct running *running, const char *what, int err);

#endif
