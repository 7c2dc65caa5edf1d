// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <linux/genetlink.h>
#include <linux/mptcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"
#include "commands.h"
#include "genetlink.h"
#include "refusal.h"
#include "text.h"

enum numbers {
	SUBFLOWS_MAX = 8,    /* the kernel's own */
	ENDPOINTS_MAX = 256, /* its ids are 8 bits wide */
};

#define SYSCTLS "/proc/sys/net/mptcp/"
static const char enabled[] = SYSCTLS "enabled", join_initial[] = SYSCTLS "allow_join_initial_addr_port";

const char mptcp_help[] = "\n"
			  "       fairlead-server mptcp add    --vip IPv4 --ports FIRST-LAST --id ID [--subflows N]\n"
			  "       fairlead-server mptcp remove --vip IPv4\n"
			  "       fairlead-server mptcp show   [-o table|json]\n"
			  "\n"
			  "Makes the kernel announce VIP:FIRST+ID to MPTCP clients: further subflows to it reach this\n"
			  "server through any mux. --ports is the service's mptcpPorts, --id this backend's id,\n"
			  "--subflows how many a connection may have (8). Clients are told not to open them to the\n"
			  "service's own port. remove ends such subflows; sysctls and the limit stay as they are.\n";

/*
 * The kernel's MPTCP path manager of this network namespace: endpoints and limits, by generic netlink. Functions return 0 or
 * a negative errno, the kernel's own included.
 */

/* An address and port that the kernel announces to clients and listens on. */
struct endpoint {
	unsigned char id; /* the kernel's */
	struct in_addr address;
	in_port_t port; /* host order */
	fl_u32 flags;   /* as the kernel has them */
};

struct endpoints {
	unsigned int count;
	struct endpoint list[ENDPOINTS_MAX];
	unsigned int subflows; /* limit of further subflows per connection */
	unsigned int accepted; /* limit of addresses that this host accepts from peers */
};

struct wanted {
	struct in_addr vip;
	unsigned long first, last, id, subflows;
	unsigned int is_json;
};

static int read_ports(void *state, const char *text)
{
	struct wanted *wanted = state;
	size_t len = strcspn(text, "-");
	char first[8];

	snprintf(first, sizeof(first), "%.*s", (int)len, text);
	if (text[len] && len < sizeof(first) && text_number_parse(first, 1, 65534, &wanted->first) &&
	    text_number_parse(text + len + 1, wanted->first + 1, 65535, &wanted->last))
		return 0;
	return refusal_print("--ports", text, "FIRST-LAST, the mptcpPorts of the service, such as 20000-20999");
}

static int read_vip(void *state, const char *text)
{
	struct wanted *wanted = state;

	if (inet_pton(AF_INET, text, &wanted->vip) != 1 || !wanted->vip.s_addr)
		return refusal_print("--vip", text, "an IPv4 address of this host, such as 10.99.0.1");
	return 0;
}

/* letters: the flags of this verb. */
static int parse(struct wanted *wanted, int argc, char **argv, const char *letters)
{
	static const struct flag flags[] = {
	    {"vip", 'v', FLAG_READ, .read = read_vip},
	    {"ports", 'p', FLAG_READ, .read = read_ports},
	    {"id", 'i', FLAG_NUMBER, offsetof(struct wanted, id), "this backend's id in its service, 1 to 65535", 1,
	     65535, NULL},
	    {"subflows", 's', FLAG_NUMBER, offsetof(struct wanted, subflows),
	     "further subflows of a connection, 1 to 8", 1, SUBFLOWS_MAX, NULL},
	    {"output", 'o', FLAG_WORD, offsetof(struct wanted, is_json), .allowed = "table, json"},
	    {0},
	};
	int err = flags_parse(flags, letters, wanted, argc, argv);

	if (!err && strchr(letters, 'v') && !wanted->vip.s_addr)
		err = refusal_print("--vip", "", "the VIP of the service, an IPv4 address of this host");
	if (!err && strchr(letters, 'p') && !wanted->last)
		err = refusal_print("--ports", "", "FIRST-LAST, the mptcpPorts of the service");
	if (!err && strchr(letters, 'i') && !wanted->id)
		err = refusal_print("--id", "", "this backend's id in its service");
	return err;
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

/* The IPv4 endpoints that are announced with a port, and the limits. */
static int endpoint_read(struct genetlink *link, struct endpoints *out)
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

static int endpoint_add(struct genetlink *link, struct in_addr address, in_port_t port)
{
	const struct endpoint endpoint = {.address = address, .port = port};

	return change(link, MPTCP_PM_CMD_ADD_ADDR, &endpoint);
}

static int endpoint_remove(struct genetlink *link, const struct endpoint *endpoint)
{
	return change(link, MPTCP_PM_CMD_DEL_ADDR, endpoint);
}

static int endpoint_limit(struct genetlink *link, unsigned int subflows, unsigned int accepted)
{
	struct nlmsghdr *message = genetlink_begin(link, MPTCP_PM_CMD_SET_LIMITS, 0);

	mnl_attr_put_u32(message, MPTCP_PM_ATTR_SUBFLOWS, subflows);
	mnl_attr_put_u32(message, MPTCP_PM_ATTR_RCV_ADD_ADDRS, accepted);
	return genetlink_ask(link, NULL, NULL);
}

/* The value of a sysctl, -1 if it can't be read. */
static int sysctl_read(const char *path)
{
	FILE *file = fopen(path, "re");
	int value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

static int sysctl_write(const char *path, int value)
{
	FILE *file = fopen(path, "we");
	int err = file ? 0 : -errno;

	if (file && fprintf(file, "%d\n", value) < 0)
		err = -EIO;
	if (file && fclose(file) && !err)
		err = -errno;
	if (err)
		fprintf(stderr, "fairlead-server: cannot set %s to %d: %s\n", path, value, strerror(-err));
	return err;
}

static int failed(const char *what, int err)
{
	fprintf(stderr, "fairlead-server: mptcp: cannot %s: %s\n", what, strerror(-err));
	return err;
}

/* Prints why the kernel rejects the endpoint. */
static int endpoint_refused(const struct wanted *wanted, in_port_t port, int err)
{
	char vip[INET_ADDRSTRLEN], number[8];

	inet_ntop(AF_INET, &wanted->vip, vip, sizeof(vip));
	snprintf(number, sizeof(number), "%u", port);
	if (err == -EADDRNOTAVAIL)
		return refusal_print("--vip", vip, "an address of this network namespace, for instance on lo");
	if (err == -EADDRINUSE)
		return refusal_print("--ports", number,
				     "a port of the VIP without a listener on this host, and whose last subflow "
				     "ended more than a minute ago");
	return failed("add the endpoint", err);
}

static bool is_at(const struct endpoint *endpoint, const struct wanted *wanted)
{
	return endpoint->address.s_addr == wanted->vip.s_addr;
}

/* Makes sure that the endpoint exists, and none of another id in the same range. */
static int endpoint_settle(struct genetlink *link, const struct endpoints *now, const struct wanted *wanted)
{
	in_port_t port = (in_port_t)(wanted->first + wanted->id);
	bool is_there = false;
	unsigned int i;
	int err = 0;

	for (i = 0; i < now->count; i++)
		is_there |= is_at(&now->list[i], wanted) && now->list[i].port == port;
	if (!is_there)
		err = endpoint_add(link, wanted->vip, port);
	if (err)
		return endpoint_refused(wanted, port, err);
	for (i = 0; !err && i < now->count; i++) {
		const struct endpoint *other = &now->list[i];

		if (is_at(other, wanted) && other->port != port && other->port >= wanted->first &&
		    other->port <= wanted->last)
			err = endpoint_remove(link, other);
	}
	return err ? failed("remove the endpoint of another id", err) : 0;
}

static int add(struct genetlink *link, const struct endpoints *now, const struct wanted *wanted)
{
	char text[24], allowed[96];
	bool was_enabled;
	int err;

	if (wanted->id > wanted->last - wanted->first) {
		snprintf(text, sizeof(text), "%lu", wanted->id);
		snprintf(allowed, sizeof(allowed), "1 to %lu, as the ports are %lu-%lu", wanted->last - wanted->first,
			 wanted->first, wanted->last);
		return refusal_print("--id", text, allowed);
	}
	/* the kernel listens at an endpoint's port only while MPTCP is enabled */
	was_enabled = sysctl_read(enabled) == 1;
	err = was_enabled ? 0 : sysctl_write(enabled, 1);
	if (err)
		return err;
	err = endpoint_settle(link, now, wanted);
	if (err && !was_enabled)
		sysctl_write(enabled, 0);
	if (err)
		return err;
	err = endpoint_limit(link, (unsigned int)wanted->subflows, now->accepted);
	if (err)
		return failed("set the limit of subflows", err);
	return sysctl_write(join_initial, 0);
}

static int remove_all(struct genetlink *link, const struct endpoints *now, const struct wanted *wanted)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < now->count; i++)
		if (is_at(&now->list[i], wanted))
			err = endpoint_remove(link, &now->list[i]);
	return err ? failed("remove an endpoint", err) : 0;
}

static int show(struct genetlink *link, const struct endpoints *now, const struct wanted *wanted)
{
	json_t *document, *list = json_array();
	unsigned int i;

	(void)link;
	for (i = 0; i < now->count; i++) {
		char address[INET_ADDRSTRLEN];

		inet_ntop(AF_INET, &now->list[i].address, address, sizeof(address));
		json_array_append_new(list, json_pack("{s:i, s:s, s:i}", "id", now->list[i].id, "address", address,
						      "port", now->list[i].port));
	}
	document = json_pack("{s:b, s:b, s:i, s:o}", "enabled", sysctl_read(enabled) == 1, "joinInitialPort",
			     sysctl_read(join_initial) == 1, "subflows", (int)now->subflows, "endpoints", list);
	if (!document)
		return failed("show anything", -ENOMEM);
	if (wanted->is_json) {
		json_dumpf(document, stdout, JSON_INDENT(2));
		printf("\n");
	} else {
		printf("%-34s %s\n", "enabled", json_is_true(json_object_get(document, "enabled")) ? "yes" : "no");
		printf("%-34s %s\n", "joins at the service's own port",
		       json_is_true(json_object_get(document, "joinInitialPort")) ? "allowed" : "forbidden");
		printf("%-34s %u\n", "further subflows of a connection", now->subflows);
		for (i = 0; i < now->count; i++)
			printf("%-34s %s:%u\n", "endpoint",
			       json_string_value(json_object_get(json_array_get(list, i), "address")),
			       now->list[i].port);
	}
	json_decref(document);
	return 0;
}

static const struct verb {
	const char *name;
	const char *letters;
	int (*run)(struct genetlink *link, const struct endpoints *now, const struct wanted *wanted);
} verbs[] = {{"add", "vpis", add}, {"remove", "v", remove_all}, {"show", "o", show}};

static int run(const struct verb *verb, const struct wanted *wanted)
{
	struct endpoints now;
	struct genetlink link;
	int err;

	if (access(enabled, F_OK)) {
		fprintf(stderr, "fairlead-server: mptcp: this kernel has no MPTCP: %s is missing\n", enabled);
		return -ENOENT;
	}
	err = genetlink_open(&link, MPTCP_PM_NAME);
	if (err) {
		failed("reach the kernel's path manager", err);
	} else {
		err = endpoint_read(&link, &now);
		if (err)
			failed("read the endpoints", err);
		else
			err = verb->run(&link, &now, wanted);
	}
	genetlink_close(&link);
	return err;
}

int mptcp_main(int argc, char **argv)
{
	struct wanted wanted = {.subflows = SUBFLOWS_MAX};
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name))
			continue;
		if (parse(&wanted, argc - 1, argv + 1, verbs[i].letters))
			return EXIT_USAGE;
		return run(&verbs[i], &wanted) ? EXIT_REFUSED : EXIT_DONE;
	}
	refusal_print("mptcp", argc > 1 ? argv[1] : "", "add, remove, show");
	return EXIT_USAGE;
}
