// SPDX-License-Identifier: Apache-2.0
#include <linux/genetlink.h>
#include <linux/mptcp.h>

#include "endpoint.h"

int endpoint_open(struct genetlink *link)
{
	return genetlink_open(link, MPTCP_PM_NAME);
}

/* One endpoint of a dump; those that are not signalled with a port, or are IPv6, are left out. */
static void read_endpoint(const struct nlattr *nested, struct endpoints *out)
{
	static const struct genetlink_field fields[] = {
	    GENETLINK_FIELD(MPTCP_PM_ADDR_ATTR_ID, struct endpoint, id),
	    GENETLINK_FIELD(MPTCP_PM_ADDR_ATTR_ADDR4, struct endpoint, address),
	    GENETLINK_FIELD(MPTCP_PM_ADDR_ATTR_PORT, struct endpoint, port),
	    GENETLINK_FIELD(MPTCP_PM_ADDR_ATTR_FLAGS, struct endpoint, flags),
	    {0},
	};
	struct endpoint endpoint = {0};

	genetlink_read_nested(nested, fields, &endpoint);
	if ((endpoint.flags & MPTCP_PM_ADDR_FLAG_SIGNAL) && endpoint.port && endpoint.address.s_addr &&
	    out->count < ENDPOINTS_MAX)
		out->list[out->count++] = endpoint;
}

static int read_answer(const struct nlmsghdr *message, void *out)
{
	static const struct genetlink_field limits[] = {
	    GENETLINK_FIELD(MPTCP_PM_ATTR_SUBFLOWS, struct endpoints, subflows),
	    GENETLINK_FIELD(MPTCP_PM_ATTR_RCV_ADD_ADDRS, struct endpoints, accepted),
	    {0},
	};
	const struct nlattr *attribute;

	genetlink_read(message, limits, out);
	mnl_attr_for_each(attribute, message, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(attribute) == MPTCP_PM_ATTR_ADDR)
			read_endpoint(attribute, out);
	}
	return MNL_CB_OK;
}

int endpoint_read(struct genetlink *link, struct endpoints *out)
{
	int err;

	*out = (struct endpoints){0};
	genetlink_begin(link, MPTCP_PM_CMD_GET_ADDR, NLM_F_DUMP);
	err = genetlink_ask(link, read_answer, out);
	if (err)
		return err;
	genetlink_begin(link, MPTCP_PM_CMD_GET_LIMITS, 0);
	return genetlink_ask(link, read_answer, out);
}

/* id 0: the kernel chooses one (add). */
static int change(struct genetlink *link, fl_u8 which, const struct endpoint *endpoint)
{
	struct nlmsghdr *message = genetlink_begin(link, which, 0);
	struct nlattr *nested = mnl_attr_nest_start(message, MPTCP_PM_ATTR_ADDR);

	mnl_attr_put_u16(message, MPTCP_PM_ADDR_ATTR_FAMILY, AF_INET);
	if (endpoint->id)
		mnl_attr_put_u8(message, MPTCP_PM_ADDR_ATTR_ID, endpoint->id);
	mnl_attr_put_u32(message, MPTCP_PM_ADDR_ATTR_ADDR4, endpoint->address.s_addr);
	mnl_attr_put_u16(message, MPTCP_PM_ADDR_ATTR_PORT, endpoint->port);
	mnl_attr_put_u32(message, MPTCP_PM_ADDR_ATTR_FLAGS, MPTCP_PM_ADDR_FLAG_SIGNAL);
	mnl_attr_nest_end(message, nested);
	return genetlink_ask(link, NULL, NULL);
}

int endpoint_add(struct genetlink *link, struct in_addr address, in_port_t port)
{
	const struct endpoint endpoint = {.address = address, .port = port};

	return change(link, MPTCP_PM_CMD_ADD_ADDR, &endpoint);
}

int endpoint_remove(struct genetlink *link, const struct endpoint *endpoint)
{
	return change(link, MPTCP_PM_CMD_DEL_ADDR, endpoint);
}

int endpoint_limit(struct genetlink *link, unsigned int subflows, unsigned int accepted)
{
	struct nlmsghdr *message = genetlink_begin(link, MPTCP_PM_CMD_SET_LIMITS, 0);

	mnl_attr_put_u32(message, MPTCP_PM_ATTR_SUBFLOWS, subflows);
	mnl_attr_put_u32(message, MPTCP_PM_ATTR_RCV_ADD_ADDRS, accepted);
	return genetlink_ask(link, NULL, NULL);
}
