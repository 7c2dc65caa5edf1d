/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module's commands (uapi/fairlead/module.h) as functions, for fairlead-server and the tests. Each returns 0, or a
 * negative errno and a sentence in link->error, as those of genetlink.h do.
 */
#ifndef FAIRLEAD_MODULE_CLIENT_H
#define FAIRLEAD_MODULE_CLIENT_H

#include <load.h>
#include <server.h>

#include "genetlink.h"

struct module_state {
	struct fl_server_config config;
	struct fl_peer peers[FL_SERVER_PEERS_MAX];
	unsigned int peer_count;
	fl_u64 counters[FL_COUNTERS];
	fl_u32 flows;
	fl_u32 quiet_left; /* seconds */
};

/* -ENOENT: it is not loaded. -EPROTO: it is of another version. To be closed by genetlink_close() in every case. */
int module_open(struct genetlink *link);

/* Sets the server up. keys: NULL unless the configuration says that packets are tagged. */
int module_set(struct genetlink *link, const struct fl_server_config *config, const struct fl_peer *peers,
	       unsigned int peer_count, const struct fl_server_keys *keys);
int module_detach(struct genetlink *link);
int module_get(struct genetlink *link, struct module_state *state);

/* Calls each() for each service whose generation has been seen. */
int module_services(struct genetlink *link, void (*each)(void *state, fl_u16 service, fl_u32 generation), void *state);

/* Forgets a service's generation. */
int module_forget(struct genetlink *link, fl_u16 service);

/* How busy the server is, by a service (load.h), and what became of that: all zero if it was never set. */
struct module_load {
	struct fl_load_setting setting;
	struct fl_load_state state;
};

int module_set_load(struct genetlink *link, fl_u16 service, const struct fl_load_setting *setting);
int module_get_load(struct genetlink *link, fl_u16 service, struct module_load *load);

/* Restores what module_services() returned. */
int module_restore_service(struct genetlink *link, fl_u16 service, fl_u32 generation);

#endif
