/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of version 2 (fairlead/list.h), a part of the packet path's last stage (burst_encap.c). */
#ifndef FAIRLEAD_MUX_BURST_LISTS_H
#define FAIRLEAD_MUX_BURST_LISTS_H

#include "packet/burst.h"
#include "ring/backend.h"

/* Writes the header of a packet to its backend, which is ready; or the verdict that says why not. */
enum verdict burst_encap_listed(struct burst *burst, uint32_t i, const struct backends *backends,
				const struct backend *backend);

/* Handles a packet that is too big; flags: enum fl_steer_flags, of which TAG counts. */
enum verdict burst_too_big(const struct backends *backends, uint8_t flags, struct packet *packet);

/*
 * Whether a second bucket's owner may be named: a server whose packets would come back to a mux is left out, as is one
 * that this mux does not know.
 */
static inline bool burst_may_be_second(const struct backend *owner)
{
	enum backend_state state = backend_state(owner);

	return state == BACKEND_READY || state == BACKEND_NO_NEIGHBOUR;
}

#endif
