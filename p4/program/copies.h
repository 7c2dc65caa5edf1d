/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the services' rings in the pipelines' registers: lines of services, regions of rows and backends' words,
 * templates of outer headers (p4/README.md, "Registers"). The control thread writes them while workers forward, in the
 * order of "Order of writes" there, so that a packet never carries a generation newer than its row, and a row never
 * names a backend that is not there yet.
 *
 *	row		its list of former owners, then the row: lists have the same places as in the C mux (ring/lists.h),
 *			where one is used again only once no packet can be on its way by it, here neither
 *	snapshot	a second region and new templates, then the base, then the generation; then the first is free
 *	delta		templates and words of new backends, changed rows, the generation
 *	arrays		new ones in a region of their own, then the word that names them, behind the rows (sets.h)
 *	next hop	a new template, then the backend's word by one store; then the old template is free
 *
 * If there is no second region, or a generation goes back, the gate is closed meanwhile (cores.h).
 */
#ifndef FAIRLEAD_P4_COPIES_H
#define FAIRLEAD_P4_COPIES_H

#include "cores.h"
#include "regions.h"
#include "sets.h"

/* One ring's. All zero: none. */
struct copy {
	struct region region;
	uint32_t buckets;
	uint32_t ids;          /* words of backends in the region */
	uint32_t *places;      /* of their templates, by id; P4_PLACES: none */
	struct backend *lines; /* as they were written, by id */
	fl_row *rows;          /* the C mux's, as they were written, by bucket */
	uint32_t stored;       /* how often that had stored one by then */
	uint32_t generation;
	struct sets_copy sets;
};

struct copies {
	struct cores *cores;
	const struct ports *ports;
	struct regions rows;
	uint64_t *lists; /* the register's words, as they were written */
	struct sets sets;
	uint32_t *places; /* a stack of free ones */
	uint32_t free;
	uint32_t *retired; /* free once no packet can be where they are read */
	uint32_t retired_count;
};

int copies_init(struct copies *copies, struct cores *cores, const struct ports *ports, struct reason *why);
void copies_clear(struct copies *copies);

/* Whether there is a region for a ring of so many buckets, with a few backends. */
bool copies_has_room(const struct copies *copies, uint32_t buckets);

/* Writes what does not depend on the ring: the key. */
void copies_configure(struct copies *copies, const struct service *service);

/*
 * The service's ring in whole; what a delta has changed; its backends' next hops; rows that have changed without a delta.
 * False: there is no room, and the copy is no longer the ring's: it must be dropped.
 */
bool copy_load(struct copies *copies, struct copy *copy, const struct service *service);
bool copy_apply(struct copies *copies, struct copy *copy, const struct service *service, const struct delta *delta);
void copy_store(struct copies *copies, struct copy *copy, const struct service *service);
bool copy_refresh(struct copies *copies, struct copy *copy, const struct service *service);

/* No packet may be served by it: its entries are gone, or the gate is closed. */
void copy_drop(struct copies *copies, struct copy *copy, const struct service *service);

#endif
