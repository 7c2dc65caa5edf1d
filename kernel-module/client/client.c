// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <fairlead/module.h>

#include "client.h"

enum {
	OTHERS_MAX = 1024, /* bytes of a message without peers and keys */
	KEYS_MAX = 1024,   /* of services in an attribute, whose length has 16 bits */
};

int module_open(struct genetlink *link)
{
	int err = genetlink_open(link, FAIRLEAD_GENL_NAME);

	if (!err && link->version != FAIRLEAD_GENL_VERSION)
		return genetlink_fail(link, -EPROTO, "the loaded module is of another version; load this one");
	return err == -ENOENT ? genetlink_fail(link, err, "the module is not loaded (modprobe fairlead)") : err;
}

static void put_keys(struct nlmsghdr *header, const struct fl_server_keys *keys)
{
	fl_u32 at, count;

	mnl_attr_put(header, FAIRLEAD_A_NOTICE_KEYS, sizeof(keys->notice), keys->notice);
	for (at = 0; at < keys->count; at += count) {
		count = keys->count - at < KEYS_MAX ? keys->count - at : KEYS_MAX;
		mnl_attr_put(header, FAIRLEAD_A_SERVICE_KEYS, count * sizeof(keys->services[0]), &keys->services[at]);
	}
}

int module_set(struct genetlink *link, const struct fl_server_config *config, const struct fl_peer *peers,
	       unsigned int peer_count, const struct fl_server_keys *keys)
{
	size_t peers_len = peer_count * sizeof(*peers);
	size_t keys_len = keys ? 2 * keys->count * sizeof(*keys->services) : 0;
	int err = genetlink_reserve(link, OTHERS_MAX + peers_len + keys_len);
	struct nlmsghdr *header;

	if (err)
		return err;
	header = genetlink_begin(link, FAIRLEAD_CMD_SET, 0);
	mnl_attr_put(header, FAIRLEAD_A_CONFIG, sizeof(*config), config);
	mnl_attr_put(header, FAIRLEAD_A_PEERS, peers_len, peers);
	if (keys)
		put_keys(header, keys);
	return genetlink_ask(link, NULL, NULL);
}

int module_detach(struct genetlink *link)
{
	genetlink_begin(link, FAIRLEAD_CMD_DETACH, 0);
	return genetlink_ask(link, NULL, NULL);
}

int module_get(struct genetlink *link, struct module_state *state)
{
	static const struct genetlink_field fields[] = {
	    GENETLINK_FIELD(FAIRLEAD_A_CONFIG, struct module_state, config),
	    GENETLINK_FIELD(FAIRLEAD_A_PEERS, struct module_state, peers),
	    GENETLINK_FIELD(FAIRLEAD_A_COUNTERS, struct module_state, counters),
	    GENETLINK_FIELD(FAIRLEAD_A_FLOWS, struct module_state, flows),
	    GENETLINK_FIELD(FAIRLEAD_A_QUIET_LEFT, struct module_state, quiet_left),
	    {0},
	};
	int err;

	memset(state, 0, sizeof(*state));
	genetlink_begin(link, FAIRLEAD_CMD_GET, 0);
	err = genetlink_get(link, fields, state);
	while (state->peer_count < FL_SERVER_PEERS_MAX && state->peers[state->peer_count].roles)
		state->peer_count++; /* no peer is without a role */
	return err;
}

struct dump {
	void (*each)(void *state, fl_u16 service, fl_u32 generation);
	void *state;
};

static int take_service(const struct nlmsghdr *message, void *state)
{
	struct item {
		fl_u16 service;
		fl_u32 generation;
	} item = {0};
	static const struct genetlink_field fields[] = {
	    GENETLINK_FIELD(FAIRLEAD_A_SERVICE, struct item, service),
	    GENETLINK_FIELD(FAIRLEAD_A_GENERATION, struct item, generation),
	    {0},
	};
	const struct dump *dump = state;

	genetlink_read(message, fields, &item);
	dump->each(dump->state, item.service, item.generation);
	return MNL_CB_OK;
}

int module_services(struct genetlink *link, void (*each)(void *state, fl_u16 service, fl_u32 generation), void *state)
{
	struct dump dump = {each, state};

	genetlink_begin(link, FAIRLEAD_CMD_GET_SERVICES, NLM_F_DUMP);
	return genetlink_ask(link, take_service, &dump);
}

static struct nlmsghdr *begin_of(struct genetlink *link, fl_u8 command, fl_u16 service)
{
	struct nlmsghdr *header = genetlink_begin(link, command, 0);

	mnl_attr_put_u16(header, FAIRLEAD_A_SERVICE, service);
	return header;
}

int module_forget(struct genetlink *link, fl_u16 service)
{
	begin_of(link, FAIRLEAD_CMD_FORGET, service);
	return genetlink_ask(link, NULL, NULL);
}

int module_set_load(struct genetlink *link, fl_u16 service, const struct fl_load_setting *setting)
{
	mnl_attr_put(begin_of(link, FAIRLEAD_CMD_SET_LOAD, service), FAIRLEAD_A_LOAD_SETTING, sizeof(*setting),
		     setting);
	return genetlink_ask(link, NULL, NULL);
}

int module_get_load(struct genetlink *link, fl_u16 service, struct module_load *load)
{
	static const struct genetlink_field fields[] = {
	    GENETLINK_FIELD(FAIRLEAD_A_LOAD_SETTING, struct module_load, setting),
	    GENETLINK_FIELD(FAIRLEAD_A_LOAD_STATE, struct module_load, state),
	    {0},
	};

	memset(load, 0, sizeof(*load));
	begin_of(link, FAIRLEAD_CMD_GET_LOAD, service);
	return genetlink_get(link, fields, load);
}

int module_restore_service(struct genetlink *link, fl_u16 service, fl_u32 generation)
{
	mnl_attr_put_u32(begin_of(link, FAIRLEAD_CMD_RESTORE, service), FAIRLEAD_A_GENERATION, generation);
	return genetlink_ask(link, NULL, NULL);
}
