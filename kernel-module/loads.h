/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How busy the agent says that the server is, by service, and what became of new connections since (load.h). A service
 * has an entry from its first setting until DETACH. Packets find it under RCU; all CPUs count in it by atomic additions.
 */
#ifndef FAIRLEAD_LOADS_H
#define FAIRLEAD_LOADS_H

#include <linux/xarray.h>

#include <load.h>

struct fl_load {
	struct fl_load_setting setting;
	struct fl_load_state state;
};

struct fl_loads {
	struct xarray services; /* struct fl_load, by id */
};

void fl_loads_init(struct fl_loads *loads);

/* There are no readers left. */
void fl_loads_destroy(struct fl_loads *loads);

/* Replaces the service's setting. May sleep; -ENOMEM, and nothing has changed. */
int fl_loads_set(struct fl_loads *loads, u16 service, const struct fl_load_setting *setting);

/* All zero before the service's first setting. */
struct fl_load fl_loads_read(struct fl_loads *loads, u16 service);

/* NULL before the service's first setting. It stays as long as the caller's loads do. */
static inline struct fl_load *fl_loads_find(struct fl_loads *loads, u16 service)
{
	return xa_load(&loads->services, service);
}

#endif
