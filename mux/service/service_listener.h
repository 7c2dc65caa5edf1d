/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows what a mux serves, for a packet path that keeps tables of its own beside the workers' (threads/front.h). The
 * control thread calls it once a change has been published to the workers, so whatever it reads of a service is what
 * they steer by, or newer than what they still hold.
 */
#ifndef FAIRLEAD_MUX_SERVICE_LISTENER_H
#define FAIRLEAD_MUX_SERVICE_LISTENER_H

#include "ring/fold.h"
#include "service/service.h"

struct service_listener {
	void *context;

	/* Before a service is added or changed: 0, or -EAFNOSUPPORT or -ENOSPC and why this mux can't serve it. */
	int (*check)(void *context, const struct service_config *config, struct reason *why);

	/* It was added, which has no ring yet, or its configuration has changed. */
	void (*configured)(void *context, const struct service *service);

	/* It has a new ring. */
	void (*loaded)(void *context, const struct service *service);

	/* A delta has changed its ring. */
	/* fold: the buckets that the delta has changed. */
	void (*applied)(void *context, const struct service *service, const struct delta *delta,
			const struct fold *fold);

	/* Windows may have ended: rows of its ring may name fewer former owners. */
	void (*closed)(void *context, const struct service *service);

	/* Next hops of its backends may have changed. */
	void (*refreshed)(void *context, const struct service *service);

	/* Its steering method was called as every STEERING_TICK_MS; not of methods that are not. */
	void (*ticked)(void *context, const struct service *service, uint64_t now_ms);

	/* No lookup has it any more. It is freed afterwards. */
	void (*removed)(void *context, const struct service *service);
};

#endif
