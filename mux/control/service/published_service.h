/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service as this mux serves it: its ring in the tables, and its VIPs announced while any bucket has an owner.
 * A service is served before it is announced, and withdrawn before it is removed.
 */
#ifndef FAIRLEAD_MUX_PUBLISHED_SERVICE_H
#define FAIRLEAD_MUX_PUBLISHED_SERVICE_H

#include "control/service/change_log.h"
#include "host/announce.h"
#include "packet/counters.h"
#include "control/service/lag.h"
#include "control/service/sick.h"
#include "tree/tree.h"
#include "service/tables.h"
#include "steering/arrays_set.h"

struct teller;

/* Where services are served; the same for all of a mux. */
struct published_place {
	struct tables *tables;
	struct counters *counters;
	struct announcer *announcer; /* NULL: VIPs are not announced */
	struct change_log *changes;  /* records what is published and applied */
	struct teller *teller;       /* tells servers first; NULL in tests: none is told */
	bool leaving;                /* the mux is stopping: nothing is announced any more */
	bool settles;                /* changes are announced by settled_watch_apply(), as what is settled allows */
};

/* All zero except place and name: nothing is served. */
struct published_service {
	const struct published_place *place;
	const char *name;
	struct service *service; /* NULL: not in the tables */
	bool is_wanted;          /* the VIPs are to be announced, by this mux or around it */
	bool announced;
	bool withdrawn_for_lag;   /* lag_withdrawal.h */
	uint32_t settled;         /* no older ring is announced (settled.h), 0: any */
	uint32_t heard_settled;   /* the same as other muxes say, while ZooKeeper does not; 0: nothing */
	uint32_t settled_refused; /* what can't be settled, since it is not committed; 0: nothing */
	uint64_t settle_by;   /* until then a later one does not count, since rings are being read; 0: there is none */
	bool is_shared_out;   /* another service has a VIP of this one, and its ring is older than its settled one */
	bool was_settled_out; /* the ring is older, as last logged */
	bool is_due;          /* published_announce() is to be called */
	bool is_held;         /* restored from disk, and not announced before the other muxes were heard (there) */
	struct lag lag;
	struct sick sick;
	bool had_way;             /* to any backend, at some time */
	bool is_cut_off;          /* there is none (control/member/unreachable.h) */
	int announce_error;       /* of the last attempt; published_announce() tries again */
	uint32_t restored;        /* the generation that was read from disk at the start, 0: none (state_keeper.h) */
	struct arrays_set arrays; /* what packets are steered by, in addition to the ring */
	uint64_t stamp;           /* differs after each change of config or ring */
	uint64_t saved_stamp;     /* of what is on disk, 0: nothing */
	uint64_t save_at;         /* not before */
	uint32_t saved;           /* the generation on disk, 0: none */
	uint32_t promised;        /* no older one is announced, not even after a restart without ZooKeeper */
};

/* NULL: none is loaded. */
const struct ring *published_ring(const struct published_service *published);
/* Whether a ring is loaded that is valid under this configuration. */
bool published_has_ring_of(const struct published_service *published, const struct service_config *config);

/*
 * Prunes the image and swaps it in for what was served, even if that was another service of the same name. Errors of
 * tables_add (for the configuration: then nothing is served) and tables_load (for the image).
 * arrays: those of the image's generation, NULL: none; copied.
 */
int published_load(struct published_service *published, const struct service_config *config, struct delta *image,
		   const struct arrays_set *arrays, struct reason *why);
/* Whether what is served differs from what is on disk. */
bool published_is_unsaved(const struct published_service *published);
/* What the ring's next delta is checked against; the caller fills in the generation. */
void published_expect(const struct published_service *published, struct delta_expected *expected);
/* Applies a delta to the ring. arrays: as above, but NULL keeps those that there are. Errors of tables_apply. */
int published_apply(struct published_service *published, const struct delta *delta, const struct arrays_set *arrays,
		    struct reason *why);
/* Decodes the ring's next delta, to be freed. Returns 0, or a refusal's reason (refusal.h) and why. */
unsigned published_decode(const struct published_service *published, uint32_t generation,
			  const struct tree_reply *bytes, struct delta *out, struct reason *why);
/*
 * Tells servers (tell/teller.h) of a change that is to be published under this configuration, a delta or an image. False:
 * not before published_is_told().
 */
bool published_tell(const struct published_service *published, const struct service_config *config,
		    const struct delta *change);
bool published_is_told(const struct published_service *published, const struct service_config *config,
		       const struct delta *change);
/* A service with this configuration is not served: its servers are told nothing more. */
void published_end_telling(const struct published_service *published, const struct service_config *config);
/* Changes VIPs, ports and window, under the same ring. Errors of tables_change. */
int published_change_config(struct published_service *published, const struct service_config *config,
			    struct reason *why);

/* Whether the ring is older than what is settled. */
bool published_is_settled_out(const struct published_service *published);
/*
 * Whether the VIPs are withdrawn since a ring is old or the mux is sick, or it asks to withdraw them, and not because it
 * stops.
 */
bool published_is_behind(const struct published_service *published);

/*
 * Why the VIPs are withdrawn although the ring could serve: "stopping", "settled", "behind", or the word of an ailment;
 * NULL: they are not.
 */
const char *published_withdrawn(const struct published_service *published);

/* Whether traffic for the VIPs comes here: they are announced, or are to be with --announce none. */
bool published_announces(const struct published_service *published);

/* Announces or withdraws, as the ring requires. */
void published_announce(struct published_service *published);
void published_remove(struct published_service *published);

#endif
