/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service as this mux serves it: its ring in the tables, and its VIPs announced while some backend owns a bucket of
 * it. What is begun serves before it is announced, what ends is withdrawn before it serves no more.
 */
#ifndef MUX_SERVING_H
#define MUX_SERVING_H

#include "host/announce.h"
#include "observe/applied.h"
#include "packet/counters.h"
#include "control/lag.h"
#include "service/tables.h"

/* Where services are served; the same for all of a mux. */
struct serving_place {
	struct tables *tables;
	struct counters *counters;
	struct announcer *announcer; /* NULL: VIPs are not announced */
	struct applied *applied;     /* what was published and applied is noted there */
	bool leaving;                /* the mux is about to end: nothing is announced any more */
};

/* All zero but place and name: nothing is served. */
struct serving {
	const struct serving_place *place;
	const char *name;
	struct service *service; /* NULL: not in the tables */
	bool announced;
	bool is_behind; /* too far: withdrawn until it has caught up (behind.h) */
	struct lag lag;
	int announce_error; /* of the last attempt; serving_announce() tries again */
};

/* NULL: none is loaded. */
const struct ring *serving_ring(const struct serving *serving);
/* Whether a ring is loaded that means the same under this configuration. */
bool serving_has_ring_of(const struct serving *serving, const struct service_config *config);

/*
 * Swaps the image in, pruned, in place of what was served, also of another service that had the name. Errors of
 * tables_add (with the configuration: then nothing is served) and tables_load (with the image).
 */
int serving_publish(struct serving *serving, const struct service_config *config, struct delta *image, struct why *why);
/* What a delta that leads the ring on is checked against; its generation is the caller's. */
void serving_expect(const struct serving *serving, struct delta_expected *expected);
/* A delta into the ring. Errors of tables_apply. */
int serving_apply(struct serving *serving, const struct delta *delta, struct why *why);
/* VIPs, ports and window, under the same ring. Errors of tables_change. */
int serving_change(struct serving *serving, const struct service_config *config, struct why *why);

/* Why the VIPs are withdrawn although the ring could serve: "stopping", "behind"; NULL: they are not. */
const char *serving_withdrawn(const struct serving *serving);

/* Announces or withdraws, as the ring asks for. */
void serving_announce(struct serving *serving);
void serving_remove(struct serving *serving);

#endif
