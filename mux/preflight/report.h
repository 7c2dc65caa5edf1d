/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of preflight.h, and their results: a sentence each, with the remedy unless it is ok. */
#ifndef FAIRLEAD_MUX_REPORT_H
#define FAIRLEAD_MUX_REPORT_H

#include <stdio.h>

#include "config/options.h"

struct ports;

enum preflight_limits {
	PREFLIGHT_CHECKS_MAX = 16 + 6 * OPTIONS_PORTS_MAX,
	PREFLIGHT_TEXT_MAX = 320,
};

enum preflight_verdict {
	PREFLIGHT_OK,
	PREFLIGHT_WARN, /* it runs, but not as well as it should */
	PREFLIGHT_FAIL, /* it does not run, or has nothing to serve */
};

struct preflight_check {
	const char *name;  /* "hugepages", "mtu", ... */
	const char *about; /* the port; NULL: the host */
	bool may_come;     /* may become ok later: a failure does not stop the start */
	enum preflight_verdict verdict;
	char text[PREFLIGHT_TEXT_MAX];
};

/* All zero: no checks yet. Options must outlive it. */
struct preflight {
	unsigned count;
	struct preflight_check checks[PREFLIGHT_CHECKS_MAX];
};

/* Adds a check; the text is formatted as by printf. */
struct preflight_check *preflight_add(struct preflight *preflight, const char *name, const char *about,
				      enum preflight_verdict verdict, const char *text, ...)
    __attribute__((format(printf, 5, 6)));

unsigned preflight_count(const struct preflight *preflight, enum preflight_verdict verdict);

/* Adds what can be checked before DPDK starts: privileges, memory, clock, BGP, and the kernel's side of the ports. */
void preflight_host(struct preflight *preflight, const struct options *options);
/* Whether one --port suits the mux, as far as the kernel knows: its state, queues, offloads, driver and MTU. */
void preflight_port(struct preflight *preflight, const struct options *options, const char *port);
/* Of ports that only DPDK can inspect, once they are open. */
void preflight_devices(struct preflight *preflight, const struct options *options, const struct ports *ports);
/* Whether ZooKeeper can be used: server names, TCP, a session, and whether this mux may read the root. Waits for it. */
void preflight_zookeeper(struct preflight *preflight, const struct options *options);

/* All checks as text, or as a JSON object {"ready":, "checks": [{"check":, "port":, "verdict":, "text":}]}. */
void preflight_print(const struct preflight *preflight, bool json, FILE *out);

/* Logs each check that is not ok. -EINVAL and why: one failed that must not fail at a start. */
int preflight_log(const struct preflight *preflight, struct reason *why);

#endif
