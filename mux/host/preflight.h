/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this host can do what a mux needs, in plain sentences: each check says what it found, and what to do if that
 * is not enough. `fairlead-mux --check` makes them all and nothing else; each start makes them too, logs those that are
 * not ok, and stops at one that failed, but for ZooKeeper, which may come later.
 */
#ifndef FAIRLEAD_MUX_PREFLIGHT_H
#define FAIRLEAD_MUX_PREFLIGHT_H

#include <stdio.h>

#include "config/options.h"
#include "host/port.h"

enum preflight_limits {
	PREFLIGHT_CHECKS_MAX = 16 + 6 * OPTIONS_PORTS_MAX,
	PREFLIGHT_TEXT_MAX = 320,
	PREFLIGHT_CONNECT_MS = 2000, /* for a TCP connection to a ZooKeeper server */
	PREFLIGHT_SESSION_MS = 5000, /* for a session, and what is read by it */
};

enum preflight_verdict {
	PREFLIGHT_OK,
	PREFLIGHT_WARN, /* it runs, but not as it should */
	PREFLIGHT_FAIL, /* it does not run, or has nothing to serve */
};

struct preflight_check {
	const char *name;  /* "hugepages", "mtu", ... */
	const char *about; /* of which port; NULL: of the host */
	bool may_come;     /* a start does not wait for it */
	enum preflight_verdict verdict;
	char text[PREFLIGHT_TEXT_MAX];
};

/* All zero: nothing is checked. Options and ports outlive it. */
struct preflight {
	unsigned count;
	struct preflight_check checks[PREFLIGHT_CHECKS_MAX];
};

/* Adds a check; the text as printf's. */
struct preflight_check *preflight_add(struct preflight *preflight, const char *name, const char *about,
				      enum preflight_verdict verdict, const char *text, ...)
    __attribute__((format(printf, 5, 6)));

/* What can be seen before DPDK starts: privileges, memory, clock, BGP, and the ports that are the kernel's. */
void preflight_host(struct preflight *preflight, const struct options *options);
/* The kernel's side of one port. */
void preflight_port(struct preflight *preflight, const struct options *options, const char *port);
/* Ports that are DPDK's alone, once they are there. */
void preflight_devices(struct preflight *preflight, const struct options *options, const struct ports *ports);
/* Servers, session, root. Takes up to PREFLIGHT_SESSION_MS, and some PREFLIGHT_CONNECT_MS for each server. */
void preflight_zookeeper(struct preflight *preflight, const struct options *options);

/* Whether an MTU leaves room for 1500 bytes of a client. */
void preflight_mtu(struct preflight *preflight, const struct options *options, const char *port, unsigned mtu,
		   bool has_ipv6);

unsigned preflight_count(const struct preflight *preflight, enum preflight_verdict verdict);
/* All of them for people, or as a JSON object {"ready":, "checks": [{"check":, "port":, "verdict":, "text":}]}. */
void preflight_print(const struct preflight *preflight, bool json, FILE *out);
/* A log line for each from `first` on that is not ok. -EINVAL and why: one of them forbids a start. */
int preflight_log(const struct preflight *preflight, unsigned first, struct why *why);

/* All checks, on standard output. Exit code 0: none failed; 1. */
int preflight_main(const struct options *options);

#endif
