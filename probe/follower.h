/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service as the probe follows it in the tree: its configuration, and the backends of its latest generation.
 *
 * `config` and `latest_gen` are watched. Backends are those of an image: a snapshot, with all later deltas folded into it.
 * The first failure in a row reads the snapshot again at once, further ones after a backoff. Meanwhile what is known
 * stays; an image that is newer, but can't be completed, counts as far as it got.
 *
 * A service without config is deleted once the list of services confirms that it is still listed: else the whole tree may
 * be gone. A config that returns starts it again.
 */
#ifndef FAIRLEAD_PROBE_FOLLOWER_H
#define FAIRLEAD_PROBE_FOLLOWER_H

#include "config/service_config.h"
#include "control/service/backoff.h"
#include "control/service/refusal.h"
#include "control/service/service_reads.h"
#include "ring/delta.h"

/* What all of them share. */
struct follower_context {
	struct tree *tree;
	const char *root;
	void *owner;
	/* The config node as read, before it is checked: it has keys that only the owner reads. */
	void (*configured)(void *owner, const char *name, const struct tree_reply *config);
	void (*changed)(void *owner);  /* the stamp */
	void (*vanished)(void *owner); /* there is no config: asks whether the service is still listed */
};

struct follower {
	char *name;
	const struct follower_context *context;
	bool is_deleted; /* only its name is still listed */
	bool has_config;
	struct service_config config; /* the last one that was accepted */
	uint64_t stamp;      /* differs after each change of the following, and of is_deleted; 0: before the first */
	uint32_t ring;       /* id of the service that the backends are of */
	uint32_t generation; /* 0: none are known */
	uint32_t backends_count;
	struct fl_delta_backend *backends; /* by ascending id, removed ones included */

	struct service_reads *reads;
	bool is_unconfirmed; /* the config was missing */
	bool is_reading;     /* what the image lacks */
	uint32_t latest;     /* generation, 0: unknown */
	struct delta image;  /* generation 0: there is none */
	struct backoff backoff;
	struct refusal config_refusal, ring_refusal;
};

/* Reads nothing yet; context must outlive it. */
struct follower *follower_new(const struct follower_context *context, const char *name);
void follower_end(struct follower *follower);

/* Whether backends of the configuration's ring are known. */
bool follower_is_ready(const struct follower *follower);

/* Reads config and latest_gen and watches them; ends a backoff. */
void follower_refresh(struct follower *follower);
/* A watch fired; tail: the node's path below the service's. */
void follower_changed(struct follower *follower, const char *tail);
/* Answers context->vanished: the service is still listed. */
void follower_confirm(struct follower *follower);
/* Refreshes when a backoff ends, at backoff.retry_at. */
void follower_run(struct follower *follower, uint64_t now_ms);

#endif
