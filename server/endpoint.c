// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/mptcp.h>
#include <stdint.h>
#include <stdlib.h>

#include "endpoint.h"

enum { BUFFER = 32768 };

struct endpoint_manager {
	struct mnl_socket *socket;
	uint16_t family;
	uint8_t version;
	unsigned int sequence;
	char buffer[BUFFER];
};

static struct nlmsghdr *begin(struct endpoint_manager *manager, uint16_t type, uint8_t command, uint8_t version,
			      uint16_t flags)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(manager->buffer);
	struct genlmsghdr *generic;

	message->nlmsg_type = type;
	message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	message->nlmsg_seq = ++manager->sequence;
	generic = mnl_nlmsg_put_extra_header(message, sizeof(*generic));
	generic->cmd = command;
	generic->version = version;
	return message;
}

/* Sends the message and passes every answer to callback, up to the kernel's acknowledgement. */
static int ask(struct endpoint_manager *manager, const struct nlmsghdr *message, mnl_cb_t callback, void *data)
{
	unsigned int port = mnl_socket_get_portid(manager->socket);
	int more = MNL_CB_OK;

	if (mnl_socket_sendto(manager->socket, message, message->nlmsg_len) < 0)
		return -errno;
	while (more > MNL_CB_STOP) {
		ssize_t len = mnl_socket_recvfrom(manager->socket, manager->buffer, BUFFER);

		if (len < 0)
			return -errno;
		more = mnl_cb_run(manager->buffer, (size_t)len, manager->sequence, port, callback, data);
	}
	return more < 0 ? -errno : 0;
}

static struct nlmsghdr *command(struct endpoint_manager *manager, uint8_t which, uint16_t flags)
{
	return begin(manager, manager->family, which, manager->version, flags);
}

static int read_family(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message,
			  sizeof(struct genlmsghdr)) if (mnl_attr_get_type(attribute) == CTRL_ATTR_FAMILY_ID) *
	    (uint16_t *)data = mnl_attr_get_u16(attribute);
	return MNL_CB_OK;
}

struct endpoint_manager *endpoint_open(void)
{
	struct endpoint_manager *manager = calloc(1, sizeof(*manager));
	struct nlmsghdr *message;
	int error = 0;

	if (!manager)
		return NULL;
	manager->version = MPTCP_PM_VER;
	manager->socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!manager->socket || mnl_socket_bind(manager->socket, 0, MNL_SOCKET_AUTOPID)) {
		error = -errno;
	} else {
		message = begin(manager, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, 0);
		mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, MPTCP_PM_NAME);
		error = ask(manager, message, read_family, &manager->family);
	}
	if (!error)
		return manager;
	endpoint_close(manager);
	errno = -error;
	return NULL;
}

void endpoint_close(struct endpoint_manager *manager)
{
	if (!manager)
		return;
	if (manager->socket)
		mnl_socket_close(manager->socket);
	free(manager);
}

/* One endpoint of a dump; those that are not signalled with a port, or are IPv6, are left out. */
static void read_endpoint(const struct nlattr *nested, struct endpoints *out)
{
	struct endpoint endpoint = {0};
	const struct nlattr *attribute;
	uint32_t flags = 0;

	mnl_attr_for_each_nested(attribute, nested)
	{
		switch (mnl_attr_get_type(attribute)) {
		case MPTCP_PM_ADDR_ATTR_ID:
			endpoint.id = mnl_attr_get_u8(attribute);
			break;
		case MPTCP_PM_ADDR_ATTR_ADDR4:
			endpoint.address.s_addr = mnl_attr_get_u32(attribute);
			break;
		case MPTCP_PM_ADDR_ATTR_PORT:
			endpoint.port = mnl_attr_get_u16(attribute);
			break;
		case MPTCP_PM_ADDR_ATTR_FLAGS:
			flags = mnl_attr_get_u32(attribute);
			break;
		}
	}
	if ((flags & MPTCP_PM_ADDR_FLAG_SIGNAL) && endpoint.port && endpoint.address.s_addr &&
	    out->count < ENDPOINTS_MAX)
		out->list[out->count++] = endpoint;
}

static int read_answer(const struct nlmsghdr *message, void *data)
{
	struct endpoints *out = data;
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, sizeof(struct genlmsghdr))
	{
		switch (mnl_attr_get_type(attribute)) {
		case MPTCP_PM_ATTR_ADDR:
			read_endpoint(attribute, out);
			break;
		case MPTCP_PM_ATTR_SUBFLOWS:
			out->subflows = mnl_attr_get_u32(attribute);
			break;
		case MPTCP_PM_ATTR_RCV_ADD_ADDRS:
			out->accepted = mnl_attr_get_u32(attribute);
			break;
		}
	}
	return MNL_CB_OK;
}

int endpoint_read(struct endpoint_manager *manager, struct endpoints *out)
{
	int error;

	*out = (struct endpoints){0};
	error = ask(manager, command(manager, MPTCP_PM_CMD_GET_ADDR, NLM_F_DUMP), read_answer, out);
	return error ? error : ask(manager, command(manager, MPTCP_PM_CMD_GET_LIMITS, 0), read_answer, out);
}

/* id 0: the kernel chooses one (add). */
static int change(struct endpoint_manager *manager, uint8_t which, const struct endpoint *endpoint)
{
	struct nlmsghdr *message = command(manager, which, 0);
	struct nlattr *nested = mnl_attr_nest_start(message, MPTCP_PM_ATTR_ADDR);

	mnl_attr_put_u16(message, MPTCP_PM_ADDR_ATTR_FAMILY, AF_INET);
	if (endpoint->id)
		mnl_attr_put_u8(message, MPTCP_PM_ADDR_ATTR_ID, endpoint->id);
	mnl_attr_put_u32(message, MPTCP_PM_ADDR_ATTR_ADDR4, endpoint->address.s_addr);
	mnl_attr_put_u16(message, MPTCP_PM_ADDR_ATTR_PORT, endpoint->port);
	mnl_attr_put_u32(message, MPTCP_PM_ADDR_ATTR_FLAGS, MPTCP_PM_ADDR_FLAG_SIGNAL);
	mnl_attr_nest_end(message, nested);
	return ask(manager, message, NULL, NULL);
}

int endpoint_add(struct endpoint_manager *manager, struct in_addr address, in_port_t port)
{
	const struct endpoint endpoint = {.address = address, .port = port};

	return change(manager, MPTCP_PM_CMD_ADD_ADDR, &endpoint);
}

int endpoint_remove(struct endpoint_manager *manager, const struct endpoint *endpoint)
{
	return change(manager, MPTCP_PM_CMD_DEL_ADDR, endpoint);
}

int endpoint_limit(struct endpoint_manager *manager, unsigned int subflows, unsigned int accepted)
{
	struct nlmsghdr *message = command(manager, MPTCP_PM_CMD_SET_LIMITS, 0);

	mnl_attr_put_u32(message, MPTCP_PM_ATTR_SUBFLOWS, subflows);
	mnl_attr_put_u32(message, MPTCP_PM_ATTR_RCV_ADD_ADDRS, accepted);
	return ask(manager, message, NULL, NULL);
}
