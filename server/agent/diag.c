// SPDX-License-Identifier: Apache-2.0
#include "diag.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* From the kernel's net/tcp_states.h, whose numbers are part of its interface. */
enum states {
	ESTABLISHED = 1,
	SYN_RECV = 3,
	FIN_WAIT1 = 4,
	FIN_WAIT2 = 5,
	CLOSE_WAIT = 8,
	LAST_ACK = 9,
	LISTEN = 10,
	CLOSING = 11,
};

#define OPEN_STATES                                                                                                    \
	(1U << ESTABLISHED | 1U << FIN_WAIT1 | 1U << FIN_WAIT2 | 1U << CLOSE_WAIT | 1U << LAST_ACK | 1U << CLOSING)

static const fl_u32 states_of[] = {
    [DIAG_CONNECTIONS] = OPEN_STATES,
    [DIAG_SWEEP] = 1U << SYN_RECV | 1U << LISTEN,
    [DIAG_LISTENERS] = 1U << LISTEN,
    [DIAG_WORK] = 1U << ESTABLISHED | 1U << CLOSE_WAIT,
};

enum numbers {
	TIMER_TIME_WAIT = 3, /* idiag_timer of a socket in TIME_WAIT */
	BUFFER = 65536,
};

struct diag {
	struct mnl_socket *socket;
	fl_u32 sequence;
	fl_u8 buffer[BUFFER];
};

struct diag *diag_open(void)
{
	struct diag *diag = calloc(1, sizeof(*diag));

	if (!diag)
		return NULL;
	diag->sequence = (fl_u32)time(NULL);
	diag->socket = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	if (!diag->socket || mnl_socket_bind(diag->socket, 0, MNL_SOCKET_AUTOPID)) {
		int err = errno;

		diag_close(diag);
		errno = err;
		return NULL;
	}
	return diag;
}

void diag_close(struct diag *diag)
{
	if (diag && diag->socket)
		mnl_socket_close(diag->socket);
	free(diag);
}

/*
 * Asks for sockets of both families by one walk over the kernel's tables, which only the older form of the request does
 * (TCPDIAG_GETSOCK): the walk is most of the cost where there are many connections.
 */
int diag_begin(struct diag *diag, enum diag_what what)
{
	fl_u8 buffer[MNL_NLMSG_HDRLEN + sizeof(struct inet_diag_req)] = {0};
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct inet_diag_req *body = mnl_nlmsg_put_extra_header(header, sizeof(*body));

	header->nlmsg_type = TCPDIAG_GETSOCK;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	header->nlmsg_seq = ++diag->sequence;
	body->idiag_family = AF_INET;
	body->idiag_states = states_of[what];
	if (what == DIAG_WORK)
		body->idiag_ext = 1U << (INET_DIAG_INFO - 1);
	if (what == DIAG_SWEEP)
		body->idiag_ext = 1U << (INET_DIAG_SKMEMINFO - 1);
	return mnl_socket_sendto(diag->socket, header, header->nlmsg_len) < 0 ? -errno : 0;
}

static int request(struct diag *diag, fl_u8 family, const struct inet_diag_sockid *id)
{
	fl_u8 buffer[MNL_NLMSG_HDRLEN + sizeof(struct inet_diag_req_v2)] = {0};
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct inet_diag_req_v2 *body = mnl_nlmsg_put_extra_header(header, sizeof(*body));

	header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	header->nlmsg_flags = NLM_F_REQUEST;
	header->nlmsg_seq = ++diag->sequence;
	body->sdiag_family = family;
	body->sdiag_protocol = IPPROTO_TCP;
	body->idiag_states = ~0U;
	body->id = *id;
	return mnl_socket_sendto(diag->socket, header, header->nlmsg_len) < 0 ? -errno : 0;
}

static struct fl_address address_of(fl_u8 family, const __be32 *words)
{
	struct fl_address address;

	if (family == AF_INET)
		return fl_address_from_ipv4((const fl_u8 *)words);
	memcpy(address.bytes, words, sizeof(address.bytes));
	return address;
}

static struct listener listener_of(const struct nlmsghdr *header, const struct inet_diag_msg *body)
{
	struct listener listener = {.local = address_of(body->idiag_family, body->id.idiag_src),
				    .port = ntohs(body->id.idiag_sport),
				    .length = body->idiag_rqueue,
				    .limit = body->idiag_wqueue};
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, header, sizeof(*body))
	{
		const fl_u32 *memory = mnl_attr_get_payload(attribute);

		if (mnl_attr_get_type(attribute) == INET_DIAG_SKV6ONLY && !mnl_attr_validate(attribute, MNL_TYPE_U8))
			listener.ipv6_only = mnl_attr_get_u8(attribute);
		if (mnl_attr_get_type(attribute) == INET_DIAG_SKMEMINFO &&
		    mnl_attr_get_payload_len(attribute) >= (SK_MEMINFO_DROPS + 1) * sizeof(*memory))
			listener.drops = memory[SK_MEMINFO_DROPS];
	}
	return listener;
}

/* False: the kernel said nothing. Older kernels know less of a connection, which is then zero. */
static bool info_of(const struct nlmsghdr *header, struct tcp_info *info)
{
	const struct nlattr *attribute;
	size_t len = 0;

	mnl_attr_for_each(attribute, header, sizeof(struct inet_diag_msg))
	{
		if (mnl_attr_get_type(attribute) != INET_DIAG_INFO)
			continue;
		*info = (struct tcp_info){0};
		len = mnl_attr_get_payload_len(attribute);
		memcpy(info, mnl_attr_get_payload(attribute), len < sizeof(*info) ? len : sizeof(*info));
	}
	return len != 0;
}

static void give(const struct nlmsghdr *header, diag_take *take, void *context)
{
	const struct inet_diag_msg *body = mnl_nlmsg_get_payload(header);
	struct diag_socket socket = {.kind = DIAG_CONNECTION};
	struct tcp_info info;

	if (mnl_nlmsg_get_payload_len(header) < sizeof(*body) ||
	    (body->idiag_family != AF_INET && body->idiag_family != AF_INET6))
		return;
	if (body->idiag_state == LISTEN) {
		socket.kind = DIAG_LISTENER;
		socket.listener = listener_of(header, body);
	} else if (body->idiag_state == SYN_RECV) {
		socket.kind = DIAG_HALF_OPEN;
	} else if (body->idiag_timer == TIMER_TIME_WAIT || !(OPEN_STATES >> body->idiag_state & 1)) {
		return;
	}
	socket.name = (struct socket_name){address_of(body->idiag_family, body->id.idiag_src),
					   address_of(body->idiag_family, body->id.idiag_dst),
					   ntohs(body->id.idiag_sport), ntohs(body->id.idiag_dport)};
	if (socket.kind == DIAG_CONNECTION && info_of(header, &info))
		socket.info = &info;
	take(context, &socket);
}

/* The error of a message of the kernel, 0 if it says success. */
static int error_of(const struct nlmsghdr *header)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(header);

	return mnl_nlmsg_get_payload_len(header) < sizeof(error->error) ? -EBADMSG : error->error;
}

/* 1: more, 0: the end. */
static int give_all(struct diag *diag, diag_take *take, void *context, int len)
{
	const struct nlmsghdr *header = (const void *)diag->buffer;

	for (; mnl_nlmsg_ok(header, len); header = mnl_nlmsg_next(header, &len)) {
		if (header->nlmsg_seq != diag->sequence)
			continue; /* of a list that was given up */
		if (header->nlmsg_flags & NLM_F_DUMP_INTR)
			return -EINTR;
		if (header->nlmsg_type == NLMSG_DONE)
			return error_of(header) < 0 ? error_of(header) : 0;
		if (header->nlmsg_type == NLMSG_ERROR)
			return error_of(header) < 0 ? error_of(header) : -EBADMSG;
		if (header->nlmsg_type == TCPDIAG_GETSOCK)
			give(header, take, context);
	}
	return 1;
}

static ssize_t receive(struct diag *diag)
{
	ssize_t got;

	do
		got = mnl_socket_recvfrom(diag->socket, diag->buffer, sizeof(diag->buffer));
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int diag_step(struct diag *diag, diag_take *take, void *context)
{
	ssize_t got = receive(diag);

	return got < 0 ? (int)got : give_all(diag, take, context, (int)got);
}

static int lookup(struct diag *diag, fl_u8 family, const struct inet_diag_sockid *id)
{
	const struct nlmsghdr *header = (const void *)diag->buffer;
	const struct inet_diag_msg *body;
	int err = request(diag, family, id), len;
	ssize_t got;

	while (!err) {
		got = receive(diag);
		if (got < 0)
			return (int)got;
		len = (int)got;
		if (!mnl_nlmsg_ok(header, len))
			return -EBADMSG;
		if (header->nlmsg_seq == diag->sequence)
			break;
	}
	if (err)
		return err;
	if (header->nlmsg_type == NLMSG_ERROR)
		return error_of(header) == -ENOENT ? 0 : error_of(header) < 0 ? error_of(header) : -EBADMSG;
	body = mnl_nlmsg_get_payload(header);
	if (mnl_nlmsg_get_payload_len(header) < sizeof(*body))
		return -EBADMSG;
	/* without the connection, the kernel finds the socket that listens, or what is left of it in TIME_WAIT */
	return body->idiag_timer != TIMER_TIME_WAIT && OPEN_STATES >> body->idiag_state & 1;
}

int diag_exists(struct diag *diag, const struct socket_name *name)
{
	struct inet_diag_sockid id = {.idiag_sport = htons(name->local_port),
				      .idiag_dport = htons(name->remote_port),
				      .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
	bool is_ipv4 = fl_address_is_ipv4(&name->local);

	memcpy(id.idiag_src, name->local.bytes + (is_ipv4 ? 12 : 0), is_ipv4 ? 4 : 16);
	memcpy(id.idiag_dst, name->remote.bytes + (is_ipv4 ? 12 : 0), is_ipv4 ? 4 : 16);
	return lookup(diag, is_ipv4 ? AF_INET : AF_INET6, &id);
}
