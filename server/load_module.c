// SPDX-License-Identifier: Apache-2.0
/*
 * The load of the module's server in this network namespace: two commands of its netlink family. The family has another
 * number when the module is loaded again, so a call that fails opens it again the next time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "load_form.h"

struct load_of_module {
	struct load load;
	struct genetlink link; /* no socket: to be opened */
	bool told;             /* of what is wrong with the module that is loaded */
};

static struct load *open_namespace(const char *interface)
{
	struct load_of_module *load = calloc(1, sizeof(*load));

	(void)interface; /* none: the module serves the whole namespace */
	if (!load)
		return NULL;
	load->load.form = &load_module;
	return &load->load;
}

static int ready(struct load_of_module *load)
{
	return load->link.socket ? 0 : module_open(&load->link);
}

/* What a call came to. Without a server, or without the module, nothing is attached, and that is no fault. */
static int done(struct load_of_module *load, int err)
{
	if (err)
		genetlink_close(&load->link);
	if (err && err != -ENOENT && !load->told)
		fprintf(stderr, "fairlead-server: %s\n", load->link.error);
	load->told = err && err != -ENOENT;
	return err;
}

/* Each call finds it. */
static int find(struct load *open)
{
	(void)open;
	return 0;
}

static int shed(void)
{
	return 0;
}

static int set(struct load *open, fl_u16 service, const struct fl_load_setting *setting)
{
	struct load_of_module *load = (struct load_of_module *)open;
	int err = ready(load);

	return done(load, err ? err : module_set_load(&load->link, service, setting));
}

static int read_state(struct load *open, fl_u16 service, struct fl_load_state *state)
{
	struct load_of_module *load = (struct load_of_module *)open;
	struct module_load read;
	int err = ready(load);

	if (!err)
		err = module_get_load(&load->link, service, &read);
	if (!err)
		*state = read.state;
	return done(load, err);
}

static void close_namespace(struct load *open)
{
	struct load_of_module *load = (struct load_of_module *)open;

	genetlink_close(&load->link);
	free(load);
}

/* The command of any service says whether there is a server; it needs CAP_NET_ADMIN, unless no module is loaded. */
static int is_attached(struct load *open)
{
	struct genetlink link;
	struct module_load load;
	int err = module_open(&link);

	(void)open;
	if (!err)
		err = module_get_load(&link, 1, &load);
	genetlink_close(&link);
	return err == -ENOENT ? 0 : err ? err : 1;
}

const struct load_form load_module = {
    .open = open_namespace,
    .find = find,
    .set = set,
    .read = read_state,
    .is_attached = is_attached,
    .shed = shed,
    .close = close_namespace,
};
