/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which service owns which VIP, protocol and port. Only the control thread reads it; workers read the services and the
 * lookup that is built from it (lookup.h).
 */
#ifndef FAIRLEAD_MUX_REGISTRY_H
#define FAIRLEAD_MUX_REGISTRY_H

#include "service/service.h"

struct lookup;

enum registry_limits {
	REGISTRY_SERVICES_MAX = 4096,
	REGISTRY_VIPS_MAX =
	    65535, /* of all services together; the XDP program's maps hold these and the mux's own addresses */
};

/* All zero: empty. */
struct registry {
	uint32_t count;
	struct service *services[REGISTRY_SERVICES_MAX]; /* in no particular order */
	bool slot_used[REGISTRY_SERVICES_MAX];           /* struct service.slot */
};

/* By name or id. NULL: none. */
struct service *registry_find(const struct registry *registry, const char *name);
struct service *registry_find_id(const struct registry *registry, uint16_t id);

/* The VIPs of all services, in malloc'ed memory; a shared VIP appears once for each service. NULL: no memory. */
struct fl_address *registry_vips(const struct registry *registry, uint32_t *count);

/*
 * Adds a service without a ring. The configuration is copied. lookup: the one built from this registry. -EEXIST: the
 * id, name, or a VIP's protocol and port belong to another service. -ENOSPC: too many services or VIPs. -ENOMEM.
 */
int registry_add(struct registry *registry, const struct lookup *lookup, const struct service_config *config,
		 struct service **out, struct reason *why);

/* Changes what service_config_check_change allows; -EINVAL, or errors of registry_add. */
int registry_change(struct registry *registry, const struct lookup *lookup, struct service *service,
		    const struct service_config *config, struct reason *why);

/* Removes a service. Its slot stays in use, and readers may hold the service, until registry_release. */
void registry_remove(struct registry *registry, const struct service *service);

/* Frees a removed service, its ring and its steering method's data: no reader may hold it. */
void registry_release(struct registry *registry, struct service *service);

/* Removes and releases all services. */
void registry_clear(struct registry *registry);

#endif
