/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of services in the pipelines' tables (p4/README.md, "Tables"): VIPs, sources, and ports of the services
 * that pipelines serve. Tables change while the gate is closed (cores.h).
 */
#ifndef FAIRLEAD_P4_ENTRIES_H
#define FAIRLEAD_P4_ENTRIES_H

#include "cores.h"

enum entries_numbers {
	ENTRIES_PORTS = 65536, /* of each family */
	ENTRIES_VIPS = 16384,
	ENTRIES_SELVES = 2, /* besides VIPs among the sources */
};

/* How many services have a VIP. */
struct entries_vip {
	struct fl_address address;
	uint32_t services;
};

struct entries {
	struct cores *cores;
	struct fl_address selves[ENTRIES_SELVES];
	uint32_t vips_count, vips_room;
	struct entries_vip *vips; /* ascending */
	uint32_t ports[2];        /* by family, IPv6 second, offered or not */
	uint32_t vips_of[2];
};

/* selves: the mux's own addresses, fl_address_is_none: none. */
int entries_init(struct entries *entries, struct cores *cores, const struct fl_address *self,
		 const struct fl_address *self6, struct reason *why);
void entries_clear(struct entries *entries);

/* Whether tables have room for a configuration in place of another one, NULL: besides all. -ENOSPC and why. */
int entries_check(const struct entries *entries, const struct service_config *before,
		  const struct service_config *config, struct reason *why);

/*
 * Replaces a service's entries: before as they were put, config as they are to be; NULL: none. Its ports have entries
 * only if it is offered. 0, or the tables have no memory left: the gate stays closed (cores.h).
 */
struct entries_service {
	const struct service *service;
	const struct service_config *config;
	uint32_t slot;
	bool is_offered;
};
int entries_put(struct entries *entries, const struct entries_service *before, const struct entries_service *after);

#endif
