/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is probed: services, their backends, and each backend's endpoints (a VIP and a port), with what is known of each.
 *
 *	pool -> service -> target (a backend) -> probe (an endpoint of it)
 *
 * The pool changes as the tree in ZooKeeper does: what a backend's probes know stays as long as its id, its address and
 * how it is probed stay. It makes and frees probes; the prober runs them.
 */
#ifndef FAIRLEAD_PROBE_POOL_H
#define FAIRLEAD_PROBE_POOL_H

#include <fairlead/delta.h>

#include "check.h"
#include "config/service_config.h"
#include "judge.h"
#include "schedule.h"
#include "wrap.h"

struct attempt;
struct probed;
struct target;

struct probe {
	struct due due; /* when it is made again, or when the present one has taken too long */
	struct target *target;
	struct attempt *attempt; /* NULL: none is under way */
	uint16_t endpoint;       /* its number among the service's */
	uint16_t source_port;    /* of the attempt */
	bool is_sent;            /* a packet of the attempt has passed the tunnel */
	struct judge judge;
};

struct target {
	struct probed *service;
	uint16_t id;
	struct wrap wrap;     /* its packets' way; the generation is the service's */
	struct probe *probes; /* one for each endpoint */
};

/* Why a service is not probed. */
enum probed_refusal {
	PROBED,
	PROBED_NO_CHECK,  /* it has no healthCheck */
	PROBED_CHECK,     /* its healthCheck is refused */
	PROBED_NO_SOURCE, /* this host has no address of a VIP's family, or of any backend's */
	PROBED_WAITING,   /* its backends are not known yet */
};

struct probed {
	char name[SERVICE_NAME_MAX + 1];
	struct service_config config;
	struct check check;
	bool has_wanted;        /* what was read last is right: */
	struct check wanted;    /* by which it is probed once the ring is known */
	int64_t config_written; /* when the config node was written, in Unix milliseconds */
	uint32_t generation;    /* of its packets */
	enum probed_refusal refusal;
	struct reason why; /* of PROBED_CHECK and PROBED_NO_SOURCE; with PROBED, of backends that are skipped */
	int endpoints_count;
	struct check_endpoint endpoints[CHECK_ENDPOINTS_MAX];
	uint32_t count;
	struct target **targets; /* by ascending id; each stays where it is */
	uint32_t skipped_count;  /* backends that are not probed, as this host has no address of their family */
	uint16_t *skipped;       /* their ids */
	int64_t wanted_written;  /* config_written of wanted */
	uint64_t seen;           /* by the tree: what of its nodes is here */
};

/* What the prober does with probes. */
struct pool_listener {
	void (*added)(void *context, struct probe *probe);
	/* It is freed next. */
	void (*removed)(void *context, struct probe *probe);
	void *context;
};

struct pool {
	struct fl_address outer[2]; /* sources of wrapped packets, by family; fl_address_is_none: none */
	struct fl_address inner[2]; /* where answers go */
	const struct fl_siphash_key *tag_key;
	struct pool_listener listener;
	unsigned count;
	struct probed **services;
};

/* The service of a name; NULL if there is none. */
struct probed *pool_find(const struct pool *pool, const char *name);
/* The same, made if need be: not probed, until pool_set(). NULL: no memory. */
struct probed *pool_get(struct pool *pool, const char *name);
void pool_remove(struct pool *pool, struct probed *service);
void pool_clear(struct pool *pool);

/*
 * Sets what is probed. backends: by ascending id, removed ones included, which are not probed. -ENOMEM: nothing is
 * probed, and the call may be repeated.
 */
int pool_set(struct pool *pool, struct probed *service, const struct service_config *config, const struct check *check,
	     const struct fl_delta_backend *backends, uint32_t backends_count);
/* Nothing of it is probed, for this reason. */
void pool_refuse(struct pool *pool, struct probed *service, enum probed_refusal refusal, const char *why);

/* What a backend's endpoints say together; *worst: that of an endpoint that is down, else its first. */
enum health target_health(const struct target *target, const struct probe **worst);
/* Whether all endpoints are down, and nothing came back from any. */
bool target_is_silent(const struct target *target);

/* The VIP and port that a probe goes to. */
const struct fl_address *probe_vip(const struct probe *probe);
const struct check_endpoint *probe_endpoint(const struct probe *probe);

#endif
