/* SPDX-License-Identifier: Apache-2.0 */
#include "tunnel.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

#include "config/address.h"
#include "host/rtnetlink.h"

enum { PACKET_MAX = 2048, RULES_LEFT_MAX = 16 };

/* A packet with the header's room in front of it. */
struct buffer {
	uint8_t room[WRAP_HEADROOM];
	uint8_t packet[PACKET_MAX];
};

/* Wrapped packets of one outer family. */
struct batch {
	unsigned count;
	struct mmsghdr messages[TUNNEL_BATCH];
	struct iovec vectors[TUNNEL_BATCH];
	struct sockaddr_storage to[TUNNEL_BATCH];
	struct wrap_flow flows[TUNNEL_BATCH];
};

struct tunnel {
	struct rtnetlink netlink;
	struct fl_address sources[2];
	bool has_rule[2];
	const struct tunnel_events *events;
	void *context;
	uint32_t index; /* of the device */
	int fd;
	int raw[2]; /* IPv4, IPv6; -1: the kernel has none */
	uint32_t vips_count;
	struct fl_address *vips;
	struct tunnel_counters counters;
	struct batch batches[2];
	struct buffer buffers[TUNNEL_BATCH];
};

static int rule(struct tunnel *tunnel, uint16_t type, const struct fl_address *source)
{
	bool ipv4 = fl_address_is_ipv4(source);
	uint16_t len = ipv4 ? 4 : 16;
	char buffer[256] = {0};
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct fib_rule_hdr *head;

	request->nlmsg_type = type;
	if (type == RTM_NEWRULE)
		request->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->family = ipv4 ? AF_INET : AF_INET6;
	head->src_len = (uint8_t)(len * 8);
	head->action = FR_ACT_TO_TBL;
	mnl_attr_put(request, FRA_SRC, len, source->bytes + 16 - len);
	mnl_attr_put_strz(request, FRA_IIFNAME, "lo"); /* what this host sends itself */
	mnl_attr_put_u32(request, FRA_PRIORITY, TUNNEL_PRIORITY);
	mnl_attr_put_u32(request, FRA_TABLE, TUNNEL_TABLE);
	mnl_attr_put_u8(request, FRA_PROTOCOL, TUNNEL_ROUTE_PROTOCOL);
	return rtnetlink_ask(&tunnel->netlink, request);
}

static int route(struct tunnel *tunnel, uint16_t type, const struct fl_address *vip)
{
	bool ipv4 = fl_address_is_ipv4(vip);
	uint16_t len = ipv4 ? 4 : 16;
	char buffer[256] = {0};
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct rtmsg *message;

	request->nlmsg_type = type;
	if (type == RTM_NEWROUTE)
		request->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	message = mnl_nlmsg_put_extra_header(request, sizeof(*message));
	message->rtm_family = ipv4 ? AF_INET : AF_INET6;
	message->rtm_dst_len = (unsigned char)(len * 8);
	message->rtm_table = RT_TABLE_UNSPEC; /* the attribute has it, which is longer */
	message->rtm_protocol = TUNNEL_ROUTE_PROTOCOL;
	message->rtm_scope = RT_SCOPE_LINK;
	message->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(request, RTA_TABLE, TUNNEL_TABLE);
	mnl_attr_put(request, RTA_DST, len, vip->bytes + 16 - len);
	mnl_attr_put_u32(request, RTA_OIF, tunnel->index);
	return rtnetlink_ask(&tunnel->netlink, request);
}

/* Rules of a program that was killed are taken away first: their sources may have been others. */
static int rules(struct tunnel *tunnel)
{
	for (int i = 0; i < 2; i++) {
		int error = 0;

		if (fl_address_is_none(&tunnel->sources[i]))
			continue;
		for (int left = 0; left < RULES_LEFT_MAX && !error; left++)
			error = rule(tunnel, RTM_DELRULE, &tunnel->sources[i]);
		error = rule(tunnel, RTM_NEWRULE, &tunnel->sources[i]);
		if (error)
			return error;
		tunnel->has_rule[i] = true;
	}
	return 0;
}

static int sockets(struct tunnel *tunnel)
{
	int one = 1;

	tunnel->raw[0] = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_RAW);
	if (tunnel->raw[0] < 0 || setsockopt(tunnel->raw[0], IPPROTO_IP, IP_HDRINCL, &one, sizeof(one)))
		return -errno;
	tunnel->raw[1] = socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_RAW);
	return tunnel->raw[1] < 0 && errno != EAFNOSUPPORT ? -errno : 0;
}

struct tunnel *tunnel_open(const struct fl_address sources[2], const struct tunnel_events *events, void *context,
			   struct reason *why)
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
	int error;

	if (!tunnel) {
		reason_set(why, -ENOMEM, "tunnel: no memory");
		return NULL;
	}
	tunnel->fd = tunnel->raw[0] = tunnel->raw[1] = -1;
	tunnel->events = events;
	tunnel->context = context;
	memcpy(tunnel->sources, sources, sizeof(tunnel->sources));
	error = rtnetlink_open(&tunnel->netlink, NETLINK_ROUTE);
	if (!error) {
		tunnel->fd = rtnetlink_tun_open(&tunnel->netlink, TUNNEL_DEVICE, WRAP_MTU, &tunnel->index);
		error = tunnel->fd < 0 ? tunnel->fd : 0;
	}
	if (!error)
		error = rules(tunnel);
	if (!error)
		error = sockets(tunnel);
	if (!error)
		return tunnel;
	reason_set(why, error, "tunnel: %s%s", strerror(-error),
		   error == -EPERM    ? "; allowed: with CAP_NET_ADMIN and CAP_NET_RAW"
		   : error == -EBUSY  ? ": another program has the device " TUNNEL_DEVICE
		   : error == -ENOENT ? ": there is no /dev/net/tun"
				      : "");
	tunnel_close(tunnel);
	return NULL;
}

void tunnel_close(struct tunnel *tunnel)
{
	for (int i = 0; i < 2; i++) {
		if (tunnel->has_rule[i])
			rule(tunnel, RTM_DELRULE, &tunnel->sources[i]);
		if (tunnel->raw[i] >= 0)
			close(tunnel->raw[i]);
	}
	if (tunnel->fd >= 0)
		close(tunnel->fd);
	rtnetlink_close(&tunnel->netlink);
	free(tunnel->vips);
	free(tunnel);
}

static bool contains(const struct fl_address *vips, uint32_t count, const struct fl_address *vip)
{
	for (uint32_t i = 0; i < count; i++)
		if (fl_address_equal(&vips[i], vip))
			return true;
	return false;
}

int tunnel_vips(struct tunnel *tunnel, const struct fl_address *vips, uint32_t count)
{
	struct fl_address *now = realloc(tunnel->vips, (tunnel->vips_count + count + 1) * sizeof(*now));
	uint32_t kept = 0;
	int failed = 0;

	if (!now)
		return -ENOMEM;
	tunnel->vips = now;
	for (uint32_t i = 0; i < tunnel->vips_count; i++) {
		int error = contains(vips, count, &now[i]) ? 0 : route(tunnel, RTM_DELROUTE, &now[i]);

		if (contains(vips, count, &now[i]) || (error && error != -ESRCH))
			now[kept++] = now[i];
	}
	for (uint32_t i = 0; i < count; i++) {
		int error = contains(now, kept, &vips[i]) ? 0 : route(tunnel, RTM_NEWROUTE, &vips[i]);

		if (!error && !contains(now, kept, &vips[i]))
			now[kept++] = vips[i];
		if (error)
			failed = error;
	}
	tunnel->vips_count = kept;
	return failed;
}

int tunnel_fd(const struct tunnel *tunnel)
{
	return tunnel->fd;
}

/* Wraps a packet and appends it to its family's batch. */
static void add(struct tunnel *tunnel, uint8_t *packet, size_t len)
{
	const struct wrap *wrap;
	struct wrap_flow flow;
	struct batch *batch;
	uint32_t overhead;
	unsigned at;

	if (!wrap_flow_read(packet, len, &flow)) {
		tunnel->counters.drop_other++;
		return;
	}
	wrap = tunnel->events->find(tunnel->context, &flow);
	if (!wrap) {
		tunnel->counters.drop_no_probe++;
		return;
	}
	overhead = wrap_write(wrap, &flow, packet, len);
	batch = &tunnel->batches[!fl_address_is_ipv4(&wrap->backend)];
	at = batch->count++;
	batch->flows[at] = flow;
	batch->vectors[at] = (struct iovec){packet - overhead, len + overhead};
	batch->messages[at].msg_hdr = (struct msghdr){
	    .msg_name = &batch->to[at],
	    .msg_namelen = address_to_socket(&wrap->backend, 0, &batch->to[at]),
	    .msg_iov = &batch->vectors[at],
	    .msg_iovlen = 1,
	};
}

static void note_failed(struct tunnel *tunnel, const struct wrap_flow *flow, int error)
{
	if (error != ENETUNREACH && error != EHOSTUNREACH && error != EADDRNOTAVAIL) {
		tunnel->counters.drop_send_failed++;
		return;
	}
	tunnel->counters.drop_unroutable++;
	tunnel->events->unroutable(tunnel->context, flow);
}

static void flush(struct tunnel *tunnel, unsigned family)
{
	struct batch *batch = &tunnel->batches[family];

	for (unsigned done = 0; done < batch->count;) {
		int sent = sendmmsg(tunnel->raw[family], batch->messages + done, batch->count - done, 0);

		if (sent <= 0)
			note_failed(tunnel, &batch->flows[done++], errno);
		else
			done += (unsigned)sent;
		tunnel->counters.sent += sent > 0 ? (uint64_t)sent : 0;
	}
	batch->count = 0;
}

bool tunnel_receive(struct tunnel *tunnel)
{
	for (unsigned round = 0; round < TUNNEL_ROUNDS; round++) {
		unsigned count;

		for (count = 0; count < TUNNEL_BATCH; count++) {
			uint8_t *packet = tunnel->buffers[count].packet;
			ssize_t len = read(tunnel->fd, packet, PACKET_MAX);

			if (len < 0 && errno == EBADFD)
				return false;
			if (len <= 0)
				break;
			add(tunnel, packet, (size_t)len);
		}
		flush(tunnel, 0);
		flush(tunnel, 1);
		if (count < TUNNEL_BATCH)
			break;
	}
	return true;
}

const struct tunnel_counters *tunnel_counters(const struct tunnel *tunnel)
{
	return &tunnel->counters;
}
