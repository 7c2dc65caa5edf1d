/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `maat`: the power of one random choice, after Maat (see docs/load.md). A connection has two buckets by the
 * halves of its hash, as with `hunt`, the same at all muxes; the mux only says which is first.
 *
 *	SYN		the bucket of the less loaded owner (loads.h); if that is the second, the filter notes it (filter.h)
 *	other packets	the second bucket if the filter has the connection, else the first
 *	FIN, RST	the filter forgets the connection
 *	no SYN		datagrams, later fragments: the first bucket
 *
 * A server that does not know a connection passes its packet on to the other bucket's owner. So loads and filter, which
 * each mux has for itself and which may be wrong, change who is asked first, and never where a connection is.
 */
#ifndef FAIRLEAD_MUX_STEERING_MAAT_H
#define FAIRLEAD_MUX_STEERING_MAAT_H

#include "flow/service.h"
#include "steering/maat/filter.h"
#include "steering/maat/loads.h"
#include "steering/steering.h"

/* A service's steering_data: never changes. A changed configuration has another one, which may share the parts. */
struct maat {
	const uint8_t *cells; /* the filter's, or one that lets it be asked each time */
	uint32_t cells_mask;
	struct maat_settings settings;
	uint32_t *counts; /* the loads' */
	struct maat_filter *filter;
	struct maat_loads *loads;
};

extern const struct steering steering_maat;

/* For tests, before there are packets: lets the service's filter work in another way, also later ones. */
void maat_set_mode(struct service *service, enum maat_filter_mode mode);

/* NULL: the service's method is not `maat`. */
static inline struct maat *maat_of(const struct service *service)
{
	return service->steering == STEERING_maat ? service_steering_data(service) : NULL;
}

#endif
