// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/module.h>

#include "client.h"

enum {
	MESSAGE_MAX = 65536, /* both ways, without keys: 1024 peers are 24 KB */
	KEYS_MAX = 1024,     /* of services in an attribute, whose length has 16 bits */
};

/* One command: its message, and what handles the messages of its answer. */
struct exchange {
	struct module_client *client;
	int (*take)(const struct nlmsghdr *message, void *state);
	void *state;
	union {
		struct nlmsghdr header;
		char bytes[MESSAGE_MAX];
	} message;
};

static int fail(struct module_client *client, int err, const char *what)
{
	snprintf(client->error, sizeof(client->error), "%s: %s", what, strerror(-err));
	return err;
}

/* more: bytes that the message may have beyond MESSAGE_MAX. */
static struct exchange *begin(struct module_client *client, fl_u16 family, fl_u8 command, fl_u16 flags, size_t more)
{
	struct exchange *exchange = malloc(sizeof(*exchange) + more);
	struct genlmsghdr *generic;
	struct nlmsghdr *header;

	if (!exchange)
		return NULL;
	exchange->client = client;
	exchange->take = NULL;
	header = mnl_nlmsg_put_header(exchange->message.bytes);
	header->nlmsg_type = family;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	header->nlmsg_seq = ++client->sequence;
	generic = mnl_nlmsg_put_extra_header(header, sizeof(*generic));
	generic->cmd = command;
	generic->version = FAIRLEAD_GENL_VERSION;
	return exchange;
}

static int take_error_text(const struct nlattr *attribute, void *state)
{
	struct module_client *client = state;

	if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG)
		snprintf(client->error, sizeof(client->error), "%.*s", (int)mnl_attr_get_payload_len(attribute),
			 mnl_attr_get_str(attribute));
	return MNL_CB_OK;
}

/* An ACK, or an error with the kernel's sentence. */
static int take_error(const struct nlmsghdr *message, void *state)
{
	struct exchange *exchange = state;
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);

	if (!error->error)
		return MNL_CB_STOP;
	fail(exchange->client, error->error, "the module rejects the command");
	if (message->nlmsg_flags & NLM_F_ACK_TLVS)
		mnl_attr_parse(message,
			       (unsigned int)sizeof(*error) +
				   (message->nlmsg_flags & NLM_F_CAPPED
					? 0
					: (unsigned int)(error->msg.nlmsg_len - sizeof(struct nlmsghdr))),
			       take_error_text, exchange->client);
	errno = -error->error;
	return MNL_CB_ERROR;
}

static int take_message(const struct nlmsghdr *message, void *state)
{
	struct exchange *exchange = state;

	return exchange->take ? exchange->take(message, exchange->state) : MNL_CB_OK;
}

static int take_done(const struct nlmsghdr *message, void *state)
{
	struct exchange *exchange = state;
	const int *result = mnl_nlmsg_get_payload(message);

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*result) || *result >= 0)
		return MNL_CB_STOP;
	errno = -*result;
	fail(exchange->client, *result, "the module rejects the command");
	return MNL_CB_ERROR;
}

/* Sends the command and receives its answer up to the ACK, the error, or the end of the dump. Frees the exchange. */
static int finish(struct exchange *exchange)
{
	mnl_cb_t control[] = {[NLMSG_ERROR] = take_error, [NLMSG_DONE] = take_done};
	struct module_client *client = exchange->client;
	struct nlmsghdr *header = &exchange->message.header;
	fl_u32 port = mnl_socket_get_portid(client->socket);
	int result = MNL_CB_OK, err = 0;

	if (mnl_socket_sendto(client->socket, header, header->nlmsg_len) < 0)
		err = fail(client, -errno, "netlink");
	while (!err && result > MNL_CB_STOP) {
		ssize_t len = mnl_socket_recvfrom(client->socket, exchange->message.bytes, MESSAGE_MAX);

		if (len < 0) {
			err = fail(client, -errno, "netlink");
			break;
		}
		client->error[0] = '\0';
		result = mnl_cb_run2(exchange->message.bytes, (size_t)len, client->sequence, port, take_message,
				     exchange, control, sizeof(control) / sizeof(control[0]));
		if (result < 0) {
			err = -errno;
			if (!client->error[0])
				fail(client, err, "netlink");
		}
	}
	free(exchange);
	return err;
}

struct family {
	fl_u16 id;
	fl_u32 version;
};

static int take_family_attribute(const struct nlattr *attribute, void *state)
{
	struct family *family = state;

	if (mnl_attr_get_type(attribute) == CTRL_ATTR_FAMILY_ID)
		family->id = mnl_attr_get_u16(attribute);
	else if (mnl_attr_get_type(attribute) == CTRL_ATTR_VERSION)
		family->version = mnl_attr_get_u32(attribute);
	return MNL_CB_OK;
}

static int take_family(const struct nlmsghdr *message, void *state)
{
	return mnl_attr_parse(message, sizeof(struct genlmsghdr), take_family_attribute, state);
}

int module_open(struct module_client *client)
{
	struct family family = {0};
	struct exchange *exchange;
	int one = 1, err;

	memset(client, 0, sizeof(*client));
	client->socket = mnl_socket_open(NETLINK_GENERIC);
	if (!client->socket || mnl_socket_bind(client->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return fail(client, -errno, "netlink");
	mnl_socket_setsockopt(client->socket, NETLINK_EXT_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(client->socket, NETLINK_CAP_ACK, &one, sizeof(one)); /* without the keys that were sent */
	exchange = begin(client, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_ACK, 0);
	if (!exchange)
		return fail(client, -ENOMEM, "netlink");
	mnl_attr_put_strz(&exchange->message.header, CTRL_ATTR_FAMILY_NAME, FAIRLEAD_GENL_NAME);
	exchange->take = take_family;
	exchange->state = &family;
	err = finish(exchange);
	client->family = family.id;
	if (!err && family.version != FAIRLEAD_GENL_VERSION)
		return fail(client, -EPROTO, "the loaded module is of another version; load this one");
	return err == -ENOENT ? fail(client, err, "the module is not loaded (modprobe fairlead)") : err;
}

void module_close(struct module_client *client)
{
	if (client->socket)
		mnl_socket_close(client->socket);
	client->socket = NULL;
}

static struct exchange *command_begin(struct module_client *client, fl_u8 command)
{
	struct exchange *exchange = begin(client, client->family, command, NLM_F_ACK, 0);

	if (!exchange)
		fail(client, -ENOMEM, "netlink");
	return exchange;
}

/* The bytes of the keys' attributes, and more. */
static size_t keys_room(const struct fl_server_keys *keys)
{
	return keys ? (size_t)keys->count * sizeof(keys->services[0]) * 2 + sizeof(keys->notice) * 2 : 0;
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

/* Messages beyond the socket's buffer need more; who may set a server up may do that. */
static int buffer_grow(struct module_client *client, size_t len)
{
	int size = (int)len * 2;

	if (len <= MESSAGE_MAX)
		return 0;
	if (setsockopt(mnl_socket_get_fd(client->socket), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		return fail(client, -errno, "the socket's buffer");
	return 0;
}

int module_set(struct module_client *client, const struct module_setup *setup)
{
	struct exchange *exchange = begin(client, client->family, FAIRLEAD_CMD_SET, NLM_F_ACK, keys_room(setup->keys));
	struct nlmsghdr *header;
	int err;

	if (!exchange)
		return fail(client, -ENOMEM, "netlink");
	header = &exchange->message.header;
	mnl_attr_put(header, FAIRLEAD_A_CONFIG, sizeof(*setup->config), setup->config);
	mnl_attr_put(header, FAIRLEAD_A_PEERS, setup->peer_count * sizeof(*setup->peers), setup->peers);
	if (setup->keys)
		put_keys(header, setup->keys);
	err = buffer_grow(client, header->nlmsg_len);
	if (err) {
		free(exchange);
		return err;
	}
	return finish(exchange);
}

int module_detach(struct module_client *client)
{
	struct exchange *exchange = command_begin(client, FAIRLEAD_CMD_DETACH);

	return exchange ? finish(exchange) : -ENOMEM;
}

/* Copies an attribute of exactly or, for lists, at most that size; returns its length. */
static size_t copy(const struct nlattr *attribute, void *to, size_t size)
{
	size_t len = mnl_attr_get_payload_len(attribute);

	memcpy(to, mnl_attr_get_payload(attribute), len < size ? len : size);
	return len < size ? len : size;
}

static int take_state_attribute(const struct nlattr *attribute, void *out)
{
	struct module_state *state = out;

	switch (mnl_attr_get_type(attribute)) {
	case FAIRLEAD_A_CONFIG:
		copy(attribute, &state->config, sizeof(state->config));
		break;
	case FAIRLEAD_A_FLOWS:
		state->flows = mnl_attr_get_u32(attribute);
		break;
	case FAIRLEAD_A_QUIET_LEFT:
		state->quiet_left = mnl_attr_get_u32(attribute);
		break;
	case FAIRLEAD_A_PEERS:
		state->peer_count =
		    (unsigned int)(copy(attribute, state->peers, sizeof(state->peers)) / sizeof(state->peers[0]));
		break;
	case FAIRLEAD_A_COUNTERS:
		copy(attribute, state->counters, sizeof(state->counters));
		break;
	}
	return MNL_CB_OK;
}

static int take_state(const struct nlmsghdr *message, void *state)
{
	return mnl_attr_parse(message, sizeof(struct genlmsghdr), take_state_attribute, state);
}

int module_get(struct module_client *client, struct module_state *state)
{
	struct exchange *exchange = command_begin(client, FAIRLEAD_CMD_GET);

	if (!exchange)
		return -ENOMEM;
	memset(state, 0, sizeof(*state));
	exchange->take = take_state;
	exchange->state = state;
	return finish(exchange);
}

/* A message of the dump. */
struct item {
	fl_u16 service;
	fl_u32 generation;
};

static int take_item_attribute(const struct nlattr *attribute, void *out)
{
	struct item *item = out;

	switch (mnl_attr_get_type(attribute)) {
	case FAIRLEAD_A_SERVICE:
		item->service = mnl_attr_get_u16(attribute);
		break;
	case FAIRLEAD_A_GENERATION:
		item->generation = mnl_attr_get_u32(attribute);
		break;
	}
	return MNL_CB_OK;
}

struct dump {
	void (*each)(void *state, fl_u16 service, fl_u32 generation);
	void *state;
};

static int take_item(const struct nlmsghdr *message, void *state)
{
	struct dump *dump = state;
	struct item item = {0};

	mnl_attr_parse(message, sizeof(struct genlmsghdr), take_item_attribute, &item);
	dump->each(dump->state, item.service, item.generation);
	return MNL_CB_OK;
}

int module_services(struct module_client *client, void (*each)(void *state, fl_u16 service, fl_u32 generation),
		    void *state)
{
	struct exchange *exchange = begin(client, client->family, FAIRLEAD_CMD_GET_SERVICES, NLM_F_DUMP, 0);
	struct dump dump = {each, state};

	if (!exchange)
		return fail(client, -ENOMEM, "netlink");
	exchange->take = take_item;
	exchange->state = &dump;
	return finish(exchange);
}

int module_forget(struct module_client *client, fl_u16 service)
{
	struct exchange *exchange = command_begin(client, FAIRLEAD_CMD_FORGET);

	if (!exchange)
		return -ENOMEM;
	mnl_attr_put_u16(&exchange->message.header, FAIRLEAD_A_SERVICE, service);
	return finish(exchange);
}

int module_set_load(struct module_client *client, fl_u16 service, const struct fl_load_setting *setting)
{
	struct exchange *exchange = command_begin(client, FAIRLEAD_CMD_SET_LOAD);

	if (!exchange)
		return -ENOMEM;
	mnl_attr_put_u16(&exchange->message.header, FAIRLEAD_A_SERVICE, service);
	mnl_attr_put(&exchange->message.header, FAIRLEAD_A_LOAD_SETTING, sizeof(*setting), setting);
	return finish(exchange);
}

static int take_load_attribute(const struct nlattr *attribute, void *out)
{
	struct module_load *load = out;

	switch (mnl_attr_get_type(attribute)) {
	case FAIRLEAD_A_LOAD_SETTING:
		copy(attribute, &load->setting, sizeof(load->setting));
		break;
	case FAIRLEAD_A_LOAD_STATE:
		copy(attribute, &load->state, sizeof(load->state));
		break;
	}
	return MNL_CB_OK;
}

static int take_load(const struct nlmsghdr *message, void *load)
{
	return mnl_attr_parse(message, sizeof(struct genlmsghdr), take_load_attribute, load);
}

int module_get_load(struct module_client *client, fl_u16 service, struct module_load *load)
{
	struct exchange *exchange = command_begin(client, FAIRLEAD_CMD_GET_LOAD);

	if (!exchange)
		return -ENOMEM;
	memset(load, 0, sizeof(*load));
	mnl_attr_put_u16(&exchange->message.header, FAIRLEAD_A_SERVICE, service);
	exchange->take = take_load;
	exchange->state = load;
	return finish(exchange);
}

int module_restore_service(struct module_client *client, fl_u16 service, fl_u32 generation)
{
	struct exchange *exchange = command_begin(client, FAIRLEAD_CMD_RESTORE);

	if (!exchange)
		return -ENOMEM;
	mnl_attr_put_u16(&exchange->message.header, FAIRLEAD_A_SERVICE, service);
	mnl_attr_put_u32(&exchange->message.header, FAIRLEAD_A_GENERATION, generation);
	return finish(exchange);
}
