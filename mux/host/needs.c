/* SPDX-License-Identifier: Apache-2.0 */
#include "host/needs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

#include "config/address.h"
#include "config/http_access.h"
#include "host/neighbour.h"
#include "host/netlink.h"
#include "host/rtnetlink.h"

enum {
	SERVERS_MAX = 32,
	PORTS_MAX = 8,
	TEXT_MAX = 255,
	STATES = 1 << TCP_ESTABLISHED | 1 << TCP_SYN_SENT,
};

struct needs {
	struct neighbours *neighbours; /* NULL: none */
	struct rtnetlink sockets;
	bool has_said; /* that sockets can't be listed */
	uint64_t now;  /* seconds */
	bool changed;
	struct fl_address own[2];
	unsigned servers_count;
	struct fl_address servers[SERVERS_MAX];
	unsigned ports_count;
	uint16_t ports[PORTS_MAX]; /* of the servers */
	unsigned count;
	struct need list[NEEDS_MAX];
};

const char *need_name(enum need_kind kind)
{
	static const char *const names[NEED_KINDS] = {"none", "own", "zookeeper", "bgp", "next_hop"};

	return names[kind];
}

/* Not loopback and not link-local: no VIP can have such an address. */
static bool is_of_concern(const struct fl_address *address)
{
	const uint8_t *bytes = address->bytes;

	if (fl_address_is_none(address) || address_is_loopback(address))
		return false;
	return fl_address_is_ipv4(address) ? bytes[12] : !(bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80);
}

static struct need *find(const struct needs *needs, const struct fl_address *address)
{
	for (unsigned i = 0; i < needs->count; i++)
		if (fl_address_equal(&needs->list[i].address, address))
			return (struct need *)(uintptr_t)&needs->list[i];
	return NULL;
}

/* The first kind in the order of the enum stays. */
static void see(struct needs *needs, const struct fl_address *address, enum need_kind kind)
{
	struct need *need;

	if (!is_of_concern(address))
		return;
	need = find(needs, address);
	if (!need && needs->count == NEEDS_MAX)
		return;
	if (!need) {
		need = &needs->list[needs->count++];
		*need = (struct need){*address, kind, needs->now};
		needs->changed = true;
	} else if (kind < need->kind) {
		need->kind = kind;
		needs->changed = true;
	}
	if (kind == need->kind)
		need->seen = needs->now;
}

/* The route to an address: what is sent from, and through. */
static void see_route(void *context, const struct fl_address *address, const struct netlink_route *route)
{
	struct needs *needs = context;

	see(needs, &route->source, NEED_OWN);
	if (!fl_address_equal(&route->gateway, address))
		see(needs, &route->gateway, NEED_NEXT_HOP);
}

static int on_socket(const struct nlmsghdr *message, void *data)
{
	const struct inet_diag_msg *found = mnl_nlmsg_get_payload(message);
	struct needs *needs = data;
	struct fl_address other;
	uint16_t near = ntohs(found->id.idiag_sport), far = ntohs(found->id.idiag_dport);

	if (found->idiag_family == AF_INET)
		other = fl_address_from_ipv4((const uint8_t *)found->id.idiag_dst);
	else
		memcpy(other.bytes, found->id.idiag_dst, sizeof(other.bytes));
	if (near == NEEDS_BGP_PORT || far == NEEDS_BGP_PORT)
		see(needs, &other, NEED_BGP);
	/* not while it is being made: it may be another's, to a VIP with this port */
	for (unsigned i = 0; found->idiag_state == TCP_ESTABLISHED && i < needs->ports_count; i++)
		if (far == needs->ports[i])
			see(needs, &other, NEED_ZOOKEEPER);
	return MNL_CB_OK;
}

/* TCP connections of a family, also those that are being made. 0 or -errno. */
static int list_sockets(struct needs *needs, uint8_t family)
{
	char buffer[256];
	struct nlmsghdr *message = rtnetlink_begin(buffer, SOCK_DIAG_BY_FAMILY, sizeof(struct inet_diag_req_v2));
	struct inet_diag_req_v2 *request = mnl_nlmsg_get_payload(message);

	message->nlmsg_flags = NLM_F_DUMP;
	request->sdiag_family = family;
	request->sdiag_protocol = IPPROTO_TCP;
	request->idiag_states = STATES;
	return rtnetlink_query(&needs->sockets, message, on_socket, needs);
}

static void see_sockets(struct needs *needs)
{
	int error = list_sockets(needs, AF_INET);

	if (!error)
		error = list_sockets(needs, AF_INET6);
	if (error && !needs->has_said)
		fprintf(stderr, "mux event=sockets_unknown error=\"%s\"\n", strerror(-error));
	needs->has_said = error;
}

static bool is_kept(const struct needs *needs, const struct need *need)
{
	bool follows_routes = need->kind == NEED_OWN || need->kind == NEED_NEXT_HOP;

	return needs->now - need->seen <= (follows_routes ? NEEDS_HOP_KEPT_SECONDS : NEEDS_KEPT_SECONDS);
}

static void forget(struct needs *needs)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < needs->count; i++)
		if (is_kept(needs, &needs->list[i]))
			needs->list[kept++] = needs->list[i];
	needs->changed |= kept != needs->count;
	needs->count = kept;
}

bool needs_refresh(struct needs *needs, uint64_t now_ms)
{
	struct netlink_route route;
	unsigned count;

	needs->now = now_ms / 1000;
	needs->changed = false;
	see(needs, &needs->own[0], NEED_OWN);
	see(needs, &needs->own[1], NEED_OWN);
	for (unsigned i = 0; i < needs->servers_count; i++)
		see(needs, &needs->servers[i], NEED_ZOOKEEPER);
	see_sockets(needs);
	count = needs->count; /* what follows adds others */
	for (unsigned i = 0; i < count && needs->neighbours; i++)
		if ((needs->list[i].kind == NEED_ZOOKEEPER || needs->list[i].kind == NEED_BGP) &&
		    !neighbours_route(needs->neighbours, &needs->list[i].address, &route))
			see_route(needs, &needs->list[i].address, &route);
	if (needs->neighbours)
		neighbours_each(needs->neighbours, see_route, needs);
	forget(needs);
	return needs->changed;
}

enum need_kind needs_of(const struct needs *needs, const struct fl_address *address)
{
	const struct need *need = find(needs, address);

	return need ? need->kind : NEED_NONE;
}

const struct need *needs_list(const struct needs *needs, unsigned *count)
{
	*count = needs->count;
	return needs->list;
}

static void add_port(struct needs *needs, uint16_t port)
{
	for (unsigned i = 0; i < needs->ports_count; i++)
		if (needs->ports[i] == port)
			return;
	if (needs->ports_count < PORTS_MAX)
		needs->ports[needs->ports_count++] = port;
}

/* Of HOST:PORT, IPv6 in brackets. A name that has no address now is found by its connection later. */
static void look_up(struct needs *needs, const char *server)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char host[TEXT_MAX + 1];
	uint16_t port;

	if (host_port_split(server, strlen(server), host, sizeof(host), &port))
		return;
	add_port(needs, port);
	if (getaddrinfo(host, NULL, &hints, &found))
		return;
	for (const struct addrinfo *at = found; at && needs->servers_count < SERVERS_MAX; at = at->ai_next)
		needs->servers[needs->servers_count++] = address_of_socket(at->ai_addr);
	freeaddrinfo(found);
}

struct needs *needs_new(const char *zookeeper, const struct fl_address *own, const struct fl_address *own6,
			struct neighbours *neighbours, struct reason *why)
{
	struct needs *needs = calloc(1, sizeof(*needs));
	char list[TEXT_MAX + 1], *at = list, *server;
	int error;

	if (!needs) {
		reason_set(why, -ENOMEM, "no memory for the addresses that the mux needs");
		return NULL;
	}
	needs->neighbours = neighbours;
	needs->own[0] = *own;
	needs->own[1] = *own6;
	error = rtnetlink_open(&needs->sockets, NETLINK_SOCK_DIAG);
	if (error) {
		reason_set(why, error, "can't list the kernel's connections: %s", strerror(-error));
		free(needs);
		return NULL;
	}
	snprintf(list, sizeof(list), "%s", zookeeper);
	while ((server = strsep(&at, ",")))
		look_up(needs, server);
	return needs;
}

void needs_free(struct needs *needs)
{
	if (!needs)
		return;
	rtnetlink_close(&needs->sockets);
	free(needs);
}
