/* SPDX-License-Identifier: Apache-2.0 */
/* How a service's backends are probed: the key `healthCheck` of its config node (protocol/README.md, 13). */
#ifndef FAIRLEAD_PROBE_CHECK_H
#define FAIRLEAD_PROBE_CHECK_H

#include <stddef.h>

#include <fairlead/types.h>

#include "config/reason.h"

struct service_config;

enum check_limits {
	CHECK_TEXT_MAX = 255, /* of path, host and body */
	CHECK_COMMAND_MAX = 64,
	CHECK_BYTES_MAX = 512, /* of a datagram that is sent, and of what an answer must have */
	CHECK_STATUS_RANGES = 8,
	CHECK_STATUS_MIN = 100,
	CHECK_STATUS_MAX = 599,
	CHECK_INTERVAL_MIN_MS = 500,
	CHECK_INTERVAL_MAX_MS = 3600000,
	CHECK_TIMEOUT_MIN_MS = 50,
	CHECK_TIMEOUT_MAX_MS = 60000, /* and at most the interval */
	CHECK_ROUNDS_MAX = 20,        /* of rise and fall */
	CHECK_JITTER_MAX = 50,
	CHECK_ENDPOINTS_MAX = 256, /* VIPs times ports */
};

enum check_kind {
	CHECK_NONE, /* the service has no healthCheck */
	CHECK_TCP,
	CHECK_HTTP,
	CHECK_HTTPS,
	CHECK_UDP,
	CHECK_COMMAND,
};

struct check_bytes {
	uint32_t len;
	uint8_t bytes[CHECK_BYTES_MAX];
};

struct check {
	enum check_kind kind;
	uint16_t port; /* 0: each of the service's ports that the kind is for */
	char path[CHECK_TEXT_MAX + 1];
	char host[CHECK_TEXT_MAX + 1]; /* empty: the VIP */
	char body[CHECK_TEXT_MAX + 1]; /* what an HTTP answer's body must have; empty: anything */
	uint32_t statuses;
	struct {
		uint16_t first, last;
	} status[CHECK_STATUS_RANGES];
	bool verify; /* the certificate */
	struct check_bytes send, expect;
	char command[CHECK_COMMAND_MAX + 1];
	uint32_t interval_ms;
	uint32_t timeout_ms;
	uint32_t rise; /* successes in a row after which a backend is up */
	uint32_t fall;
	uint32_t jitter; /* per cent of the interval by which it varies, to either side */
};

/* A VIP and a port to which a backend is probed. */
struct check_endpoint {
	uint16_t vip; /* its number among the service's */
	uint8_t protocol;
	uint16_t port;
};

const char *check_kind_name(enum check_kind kind);

/*
 * Reads a service's config node; what does not belong to healthCheck was checked elsewhere. Padding and what the kind
 * does not use are zero. Returns -EINVAL and why, with *out unchanged.
 */
int check_parse(const char *json, size_t len, struct check *out, struct reason *why);

/* Whether an HTTP status is expected. */
bool check_has_status(const struct check *check, unsigned status);

/*
 * Where each backend of the service is probed. Returns how many there are, at most CHECK_ENDPOINTS_MAX; -EINVAL and why
 * if there are none or more.
 */
int check_endpoints(const struct check *check, const struct service_config *config,
		    struct check_endpoint out[CHECK_ENDPOINTS_MAX], struct reason *why);

#endif
