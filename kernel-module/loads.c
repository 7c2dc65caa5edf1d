// SPDX-License-Identifier: GPL-2.0-only
#include "loads.h"

#include <linux/slab.h>

void fl_loads_init(struct fl_loads *loads)
{
	xa_init(&loads->services);
}

void fl_loads_destroy(struct fl_loads *loads)
{
	struct fl_load *load;
	unsigned long service;

	xa_for_each(&loads->services, service, load) kfree(load);
	xa_destroy(&loads->services);
}

/* The service's entry, a new one if it has none; an error pointer if memory runs out. */
static struct fl_load *make(struct fl_loads *loads, u16 service)
{
	struct fl_load *load = fl_loads_find(loads, service), *other;

	if (load)
		return load;
	load = kzalloc(sizeof(*load), GFP_KERNEL_ACCOUNT);
	if (!load)
		return ERR_PTR(-ENOMEM);
	other = xa_cmpxchg(&loads->services, service, NULL, load, GFP_KERNEL);
	if (!other)
		return load;
	kfree(load);
	return xa_is_err(other) ? ERR_PTR(xa_err(other)) : other;
}

int fl_loads_set(struct fl_loads *loads, u16 service, const struct fl_load_setting *setting)
{
	struct fl_load *load = make(loads, service);

	if (IS_ERR(load))
		return PTR_ERR(load);
	load->setting = *setting; /* a packet may see halves of two: load.h */
	return 0;
}

struct fl_load fl_loads_read(struct fl_loads *loads, u16 service)
{
	const struct fl_load *load = fl_loads_find(loads, service);

	return load ? *load : (struct fl_load){};
}
