/* SPDX-License-Identifier: Apache-2.0 */
#include "twin.h"

#include <netinet/in.h>
#include <string.h>

#include "layout.h"
#include "packet/burst.h"
#include "rack.h"
#include "ring/backend.h"
#include "ring/ring.h"
#include "ring/lists.h"

enum {
	AT_TCP_FLAGS = 13,
	TCP_SYN = 2,
	TAILROOM = 256, /* for headers longer than a buffer's headroom */
};

/* A frame to a VIP, as far as its IP header says. */
struct view {
	const uint8_t *ip;
	bool ipv6;
	uint8_t protocol;
	bool source_forbidden; /* by the IP header alone */
};

static struct view view_of(const struct frame *frame)
{
	uint32_t at = FRAME_AT_IP;
	uint16_t type = fl_load_be16(frame->bytes + at - 2);
	struct view view;

	while (type == FL_TYPE_VLAN || type == FL_TYPE_SERVICE_VLAN) {
		at += 4;
		type = fl_load_be16(frame->bytes + at - 2);
	}
	view.ip = frame->bytes + at;
	view.ipv6 = type == FL_TYPE_IPV6;
	view.protocol = view.ipv6 ? view.ip[6] : view.ip[9];
	if (view.ipv6) {
		static const uint8_t zero[15], mapped[12] = {[10] = 0xff, 0xff};
		const uint8_t *source = view.ip + 8;

		view.source_forbidden = (!memcmp(source, zero, 15) && source[15] < 2) || !memcmp(source, mapped, 12) ||
					source[0] == 0xff || (source[0] == 0xfe && source[1] >> 6 == 2) ||
					!memcmp(source, view.ip + 24, 16);
	} else {
		const uint8_t *source = view.ip + 12;

		view.source_forbidden =
		    !source[0] || source[0] == 127 || source[0] >= 224 || !memcmp(source, view.ip + 16, 4);
	}
	return view;
}

static bool is_extension(uint8_t protocol)
{
	return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING || protocol == IPPROTO_FRAGMENT ||
	       protocol == IPPROTO_AH || protocol == IPPROTO_DSTOPTS;
}

/* Whether the IP header decided, before anything behind it. */
static bool is_early(const struct view *view, enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_IP_HEADER_LENGTH:
	case VERDICT_IP_TOTAL_LENGTH:
	case VERDICT_IP_CHECKSUM:
	case VERDICT_IP_TTL:
		return true;
	case VERDICT_IP_SOURCE:
		return view->source_forbidden;
	default:
		return false;
	}
}

/* Whether the packet came as far as its service's ring. */
static bool is_late(enum verdict verdict)
{
	return verdict == VERDICT_SERVICE || (verdict >= VERDICT_NO_RING && verdict <= VERDICT_TOO_BIG_SILENT);
}

/* What the program leaves to others because of the service, its port or its backend. */
static bool is_referred(const struct view *view, const struct packet *packet)
{
	const struct service *service = packet->service;
	uint8_t kind = p4_kind(service, view->protocol, packet->flags & PACKET_BY_ID, false);
	const uint8_t *tcp = view->ip + (view->ipv6 ? 40 : FL_IPV4_LEN);

	return kind & P4_KIND_REFER ||
	       (view->protocol == IPPROTO_TCP && tcp[AT_TCP_FLAGS] & TCP_SYN && kind & P4_KIND_REFER_SYN);
}

/* The backend that a packet goes to is one that the program does not send to. */
static bool has_foreign_backend(const struct packet *packet, enum verdict verdict)
{
	const struct backends *backends;
	const struct backend *backend;

	if (verdict != VERDICT_SERVICE && verdict != VERDICT_TOO_BIG)
		return false;
	backends = ring_backends(service_ring(packet->service));
	backend = &backends->rows[fl_row_current(packet->row)];
	return backend->vlan || backend->port < RACK_FIRST_PORT || backend->port >= RACK_FIRST_PORT + P4_PORT_WIRES;
}

/* Servers, each once: who gets the packet, and its candidates. */
struct servers {
	struct fl_address list[2 + 2 * FL_LIST_MAX];
	uint32_t count;
	bool is_ipv6; /* one of them is */
};

static void add(struct servers *servers, const struct fl_address *address)
{
	for (uint32_t i = 0; i < servers->count; i++)
		if (fl_address_equal(&servers->list[i], address))
			return;
	servers->is_ipv6 |= !fl_address_is_ipv4(address);
	servers->list[servers->count++] = *address;
}

static void add_owner(struct servers *servers, const struct backend *backend)
{
	const struct fl_address address = encap_destination(&backend->outer);

	add(servers, &address);
}

static void add_former(struct servers *servers, const struct lists *lists, fl_row row)
{
	const bool is_ipv6 = lists_flags(row) & FL_LIST_IPV6;

	for (uint32_t i = 0; i < lists_count(row); i++) {
		const uint8_t *at = lists_addresses(lists->cells, row);
		struct fl_address address;

		if (is_ipv6)
			memcpy(address.bytes, at + i * LISTS_IPV6_LEN, LISTS_IPV6_LEN);
		else
			address = fl_address_from_ipv4(at + i * LISTS_IPV4_LEN);
		add(servers, &address);
	}
}

static bool may_be_named(const struct backend *owner)
{
	return backend_state(owner) == BACKEND_READY || backend_state(owner) == BACKEND_NO_NEIGHBOUR;
}

/* The packet's list is longer than the program makes them. */
static bool has_foreign_list(const struct burst *burst, enum verdict verdict)
{
	const struct packet *packet = &burst->packets[0];
	const bool is_syn = packet->flags & PACKET_SYN, has_second = burst->seconds & 1;
	struct servers servers = {.count = 0};
	const struct backend *rows;
	const struct lists *lists;

	if ((verdict != VERDICT_SERVICE && verdict != VERDICT_TOO_BIG) || packet->service->encap == &encap_ipip)
		return false;
	rows = ring_backends(service_ring(packet->service))->rows;
	lists = service_ring(packet->service)->listed->lists;
	if (has_second && !is_syn &&
	    (lists_count(packet->row) > P4_LIST_SECOND_MAX || lists_count(packet->second_row) > P4_LIST_SECOND_MAX))
		return true;
	add_owner(&servers, &rows[fl_row_current(packet->row)]);
	if (has_second && may_be_named(&rows[fl_row_current(packet->second_row)]))
		add_owner(&servers, &rows[fl_row_current(packet->second_row)]);
	if (!is_syn)
		add_former(&servers, lists, packet->row);
	if (!is_syn && has_second)
		add_former(&servers, lists, packet->second_row);
	return servers.is_ipv6 && servers.count - 1 > P4_LIST_IPV6_MAX;
}

static unsigned verdict_of(const struct view *view, const struct burst *burst)
{
	const struct packet *packet = &burst->packets[0];
	const enum verdict verdict = packet->verdict;

	if (!view->ipv6 && (view->ip[0] & 15) > 5)
		return P4_VERDICT_OPTIONS;
	if (is_early(view, verdict))
		return verdict;
	if (!view->ipv6 && verdict == VERDICT_FRAGMENT)
		return P4_VERDICT_FRAGMENT;
	if (view->ipv6 && is_extension(view->protocol))
		return P4_VERDICT_EXTENSIONS;
	if (verdict == VERDICT_SEGMENTED)
		return verdict;
	if (view->protocol == (view->ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return P4_VERDICT_ICMP;
	if (is_late(verdict) &&
	    (is_referred(view, packet) || has_foreign_backend(packet, verdict) || has_foreign_list(burst, verdict)))
		return P4_VERDICT_REFERRED;
	return verdict;
}

static void steer(const struct twin *twin, struct rte_mbuf *mbuf, struct burst *burst)
{
	memset(burst, 0, sizeof(*burst));
	burst->lookup = tables_lookup(twin->tables);
	burst->mac = mac_word(frame_mac);
	burst->now = twin->now;
	burst->count = 1;
	burst->mbufs[0] = mbuf;
	burst_steer(burst);
}

void twin_expect(const struct twin *twin, const struct frame *frame, uint32_t visible, struct twin_expected *out)
{
	struct rte_mbuf *mbuf = frame_wrap_with(frame, TAILROOM);
	const struct packet *packet;
	struct burst burst;
	struct view view;

	mbuf->data_len = (uint16_t)visible;
	steer(twin, mbuf, &burst);
	packet = &burst.packets[0];
	out->slot = 0;
	out->moved = burst.moved;
	out->second = burst.second;
	out->second_first = burst.second_first;
	out->second_syns = burst.second_syns;
	out->out.len = 0;
	if (packet->verdict == VERDICT_NOT_OURS || packet->verdict == VERDICT_PEER) {
		out->verdict = VERDICT_NOT_OURS; /* to the mux itself: fragments that others send here */
		frame_unwrap(mbuf);
		return;
	}
	view = view_of(frame);
	out->verdict = verdict_of(&view, &burst);
	if (is_late(packet->verdict) &&
	    (out->verdict == packet->verdict || (out->verdict == P4_VERDICT_REFERRED && !is_referred(&view, packet))))
		out->slot = rack_slot(packet->service);
	if (out->verdict == VERDICT_SERVICE) {
		out->port = packet->port;
		out->out.len = mbuf->pkt_len;
		memcpy(out->out.bytes, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->pkt_len);
	}
	frame_unwrap(mbuf);
}
