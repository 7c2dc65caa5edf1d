/* SPDX-License-Identifier: Apache-2.0 */
#include "check_output.h"

#include <netinet/in.h>
#include <string.h>

#include <fairlead/fragment.h>

#include "ring/backend.h"
#include "packet/icmp.h"
#include "ring/ring.h"
#include "steering/steering.h"
#include "random_frame.h"
#include "sent.h"

enum {
	TCP_SYN = 2,
	IPIP_SERVICE = 3, /* whose packets do not name it */
};

/* An IP packet in a frame. */
struct ip {
	const uint8_t *bytes;
	uint32_t len;  /* from its header */
	uint32_t room; /* bytes up to the end of the frame */
	bool ipv6;
	uint32_t header; /* without IPv6's extensions */
	uint8_t protocol;
	struct fl_address source, destination;
};

/* Parses the fixed header at bytes; false: it is of another version, or cut short. */
static bool read_ip(const uint8_t *bytes, uint32_t room, bool ipv6, struct ip *out)
{
	if (room < (ipv6 ? (uint32_t)FL_IPV6_LEN : (uint32_t)FL_IPV4_LEN) || bytes[0] >> 4 != (ipv6 ? 6 : 4))
		return false;
	*out = (struct ip){.bytes = bytes, .room = room, .ipv6 = ipv6};
	out->header = ipv6 ? (uint32_t)FL_IPV6_LEN : (bytes[0] & 15) * 4U;
	out->len = ipv6 ? FL_IPV6_LEN + (uint32_t)fl_load_be16(bytes + 4) : fl_load_be16(bytes + 2);
	out->protocol = bytes[ipv6 ? 6 : 9];
	out->source = ipv6 ? fl_address_from_ipv4((const fl_u8[4]){0}) : fl_address_from_ipv4(bytes + 12);
	out->destination = ipv6 ? out->source : fl_address_from_ipv4(bytes + 16);
	if (ipv6) {
		memcpy(out->source.bytes, bytes + 8, 16);
		memcpy(out->destination.bytes, bytes + 24, 16);
	}
	return true;
}

/* Offset of the frame's IP packet; 0: there is none. */
static uint32_t find_ip(const uint8_t *frame, uint32_t len, bool *ipv6)
{
	uint32_t at = FL_ETHERNET_LEN;

	for (int tags = 0; tags <= 2 && at <= len; tags++, at += 4) {
		uint16_t type = fl_load_be16(frame + at - 2);

		*ipv6 = type == 0x86dd;
		if (type == 0x0800 || type == 0x86dd)
			return at;
		if (type != 0x8100 && type != 0x88a8)
			break;
	}
	return 0;
}

static bool read_frame(const uint8_t *frame, uint32_t len, struct ip *out)
{
	bool ipv6;
	uint32_t at = find_ip(frame, len, &ipv6);

	return at && read_ip(frame + at, len - at, ipv6, out);
}

static bool is_self(const struct fl_address *address)
{
	const struct fl_address self = image_address(RANDOM_SELF), self6 = image_address(RANDOM_SELF6);

	return fl_address_equal(address, &self) || fl_address_equal(address, &self6);
}

static bool is_vip(const struct output_world *world, const struct fl_address *address)
{
	const struct registry *registry = &world->tables->registry;

	for (uint32_t s = 0; s < registry->count; s++)
		for (uint32_t i = 0; i < registry->services[s]->config.vips_count; i++)
			if (fl_address_equal(&registry->services[s]->config.vips[i], address))
				return true;
	return false;
}

bool check_is_ours(const struct output_world *world, const struct frame *in)
{
	struct ip ip;

	return in->len >= FL_ETHERNET_LEN && !memcmp(in->bytes, frame_mac, 6) && read_frame(in->bytes, in->len, &ip) &&
	       is_vip(world, &ip.destination);
}

/* The received packet; without the header, if another mux forwarded it. */
static bool read_received(const struct frame *in, struct ip *out, bool *wrapped)
{
	struct fl_fragment fragment;
	uint32_t head;

	if (!read_frame(in->bytes, in->len, out))
		return false;
	*wrapped = is_self(&out->destination);
	if (!*wrapped)
		return true;
	head = out->header + FL_UDP_LEN;
	if (out->room <= head || !fl_fragment_parse(out->bytes + head, out->bytes + out->room, &fragment))
		return false;
	head += fl_fragment_len(fragment.flags);
	return out->room > head &&
	       read_ip(out->bytes + head, out->room - head, fragment.inner_protocol == FL_LIST_GUE_IPV6, out);
}

/*
 * The bytes must be equal. In a SYN of a service that limits the MSS, two bytes may be lower if the checksum
 * compensates: the segment's sum stays the same.
 */
static bool is_same_packet(const struct ip *before, const uint8_t *after, const struct service *service)
{
	uint32_t end = before->len, at = before->header, differ = 0;

	if (before->len > before->room)
		return false;
	if (!memcmp(before->bytes, after, before->len))
		return true;
	if (!service || !service->mss)
		return false;
	for (uint32_t i = 0; i < end; i++)
		if (before->bytes[i] != after[i]) {
			if (i < at)
				return false;
			differ++;
		}
	/* IPv6 extension headers have even lengths, so the segment's words are those from the fixed header on */
	return differ <= 4 && random_fold(random_sum(0, before->bytes + at, end - at)) % 0xffff ==
				  random_fold(random_sum(0, after + at, end - at)) % 0xffff;
}

/* The outer headers, as a router reads them: lengths, checksum, DF, TTL. Outputs the offset of the payload. */
static const char *check_outer(const struct ip *ip, uint32_t *at)
{
	const uint8_t *udp = ip->bytes + ip->header;

	if (ip->len != ip->room)
		return "the outer length is not the frame's";
	if (ip->ipv6 ? ip->bytes[7] != 64 : ip->bytes[8] != 64 || fl_load_be16(ip->bytes + 6) != 0x4000)
		return "the outer TTL is not 64, or DF is not set";
	if (!ip->ipv6 && random_fold(random_sum(0, ip->bytes, ip->header)) != 0xffff)
		return "the outer checksum is wrong";
	*at = ip->header;
	if (ip->protocol != IPPROTO_UDP)
		return NULL;
	*at += FL_UDP_LEN;
	if (ip->len < *at + FL_LIST_GUE_LEN)
		return "the outer packet is too short";
	if (fl_load_be16(udp) < 0xc000 || fl_load_be16(udp + 2) != FL_LIST_GUE_PORT || fl_load_be16(udp + 6))
		return "the outer UDP header has wrong ports or a checksum";
	return fl_load_be16(udp + 4) == ip->len - ip->header ? NULL : "the outer UDP length is wrong";
}

/* The frame takes the kernel's next hop: MAC addresses, VLAN, MTU. */
static const char *check_way(const struct output_world *world, const uint8_t *frame, const struct ip *ip)
{
	struct next_hop hop;

	world->hops->lookup(world->hops->context, &ip->destination, &hop);
	if (!hop.resolved)
		return "sent to an unresolved next hop";
	if (memcmp(frame, hop.mac, 6) || memcmp(frame + 6, hop.source_mac, 6))
		return "a wrong MAC address";
	if (ip->bytes != frame + FL_ETHERNET_LEN + (hop.vlan ? 4 : 0) ||
	    (hop.vlan && fl_load_be16(frame + 14) != hop.vlan))
		return "a wrong VLAN tag";
	if (!fl_address_equal(&ip->source, &hop.source))
		return "a wrong outer source";
	return ip->len <= hop.mtu ? NULL : "larger than the path MTU";
}

/* Whether the ports in this packet give the bucket: no fragment, no extension header. */
static bool is_simple(const struct ip *ip)
{
	if (!ip->ipv6 && fl_load_be16(ip->bytes + 6) & FL_IPV4_FRAGMENT)
		return false;
	return ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP;
}

/* Of a simple packet. */
static struct flow flow_of(const struct ip *ip)
{
	return (struct flow){.source = ip->source,
			     .destination = ip->destination,
			     .source_port = fl_load_be16(ip->bytes + ip->header),
			     .destination_port = fl_load_be16(ip->bytes + ip->header + 2),
			     .protocol = ip->protocol};
}

/* Whether a list has the former owners of a bucket whose windows are open, newest first, as many as a header can name. */
static bool is_list_of(const struct output_world *world, const struct service *service, uint32_t bucket,
		       const struct fl_list *list)
{
	const struct ring *ring = service_ring(service);
	const struct history *history = histories_get(&ring->image.histories, ring->image.history[bucket]);
	uint32_t count = 0;

	for (uint32_t i = 0; i < history->count && count < encap_candidates(service->encap); i++) {
		struct fl_address address;

		if (ring->image.closed_until && history->since[i] + service->config.window <= world->now)
			continue;
		if (count == list->count || !backends_address(ring_backends(ring), history->owner[i], &address) ||
		    !fl_address_equal(&address, &list->candidate[count]))
			return false;
		count++;
	}
	return count == list->count;
}

/* Whether this is the service's. */
static bool is_backend(const struct service *service, const struct fl_address *to)
{
	const struct backends *backends = ring_backends(service_ring(service));

	for (uint32_t id = 1; id < backends->size; id++) {
		struct fl_address address;

		if (backends_address(backends, (uint16_t)id, &address) && fl_address_equal(&address, to))
			return true;
	}
	return false;
}

/* A packet that its port or an id in it sends to any backend of the service. */
static bool may_go_anywhere(const struct service *service, const struct flow *flow)
{
	return mptcp_ports_has(&service->config.mptcp, flow->protocol, flow->destination_port) ||
	       (flow->protocol == IPPROTO_UDP && service->config.quic.length);
}

static const char *check_servers(const struct output_world *world, const struct service *service,
				 const struct ip *inner, const struct sent *sent)
{
	const struct ring *ring = service_ring(service);
	struct fl_address owner;
	struct flow flow;
	uint32_t bucket;

	if (!is_backend(service, &sent->to))
		return "sent to no backend of the service";
	for (uint32_t i = 0; i < sent->list.count; i++)
		if (!is_backend(service, &sent->list.candidate[i]) ||
		    fl_address_equal(&sent->list.candidate[i], &sent->to))
			return "a candidate that is no other backend of the service";
	if (!is_simple(inner))
		return NULL;
	flow = flow_of(inner);
	if (may_go_anywhere(service, &flow) && !sent->list.count)
		return NULL;
	bucket = (uint32_t)service_flow_hash(service, &flow) & (ring_buckets(ring) - 1);
	if (!backends_address(ring_backends(ring), ring->image.current[bucket], &owner) ||
	    !fl_address_equal(&owner, &sent->to))
		return "not sent to its bucket's backend";
	if ((flow.protocol == IPPROTO_UDP && service->config.stateless_udp) ||
	    (flow.protocol == IPPROTO_TCP && inner->bytes[inner->header + 13] & TCP_SYN))
		return sent->list.count ? "a SYN or a stateless datagram with former owners" : NULL;
	return is_list_of(world, service, bucket, &sent->list) ? NULL : "not the former owners of its bucket";
}

static const char *check_steered(const struct output_world *world, const uint8_t *out, uint32_t len,
				 const struct ip *outer, const struct ip *inner)
{
	const struct service *service;
	struct sent sent;
	bool is_ipip;

	if (!sent_parse(out, len, &sent))
		return "a header that servers reject";
	if (sent.list.inner_protocol != (inner->ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4))
		return "a wrong inner protocol";
	is_ipip = !sent.list.service;
	service = registry_find_id(&world->tables->registry, is_ipip ? IPIP_SERVICE : sent.list.service);
	if (!service || sent.list.generation != ring_generation(service_ring(service)))
		return "a wrong service or generation";
	if (sent.end - sent.inner != inner->len || !is_same_packet(inner, sent.inner, service))
		return "the inner packet was changed";
	if (outer->bytes[1] != inner->bytes[1] && !outer->ipv6 && !inner->ipv6)
		return "outer and inner DSCP or ECN differ";
	if (!sent_is_tagged(&sent, is_ipip ? NULL : world->tag_key))
		return "a missing, unexpected or wrong tag";
	return check_servers(world, service, inner, &sent);
}

/* Whether what follows UDP is of a mux to a mux: nothing behind the GUE base, or what is no list. */
static bool is_fragment(const uint8_t *gue)
{
	return !gue[0] || gue[FL_FRAGMENT_LEN] == FL_FRAGMENT_VERSION << 4;
}

/* From mux to mux: the packet as received, and not from a mux. */
static const char *check_forwarded(const struct output_world *world, const struct ip *outer, uint32_t at,
				   const struct ip *inner, bool wrapped)
{
	struct fl_fragment fragment;
	struct fl_siphash_key key;

	if (wrapped)
		return "forwarded a second time";
	if (!fl_fragment_parse(outer->bytes + at, outer->bytes + outer->len, &fragment) ||
	    fragment.inner_protocol != (inner->ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4))
		return "a GUE header that muxes reject";
	at += fl_fragment_len(fragment.flags);
	if (fragment.flags != tag_key_flags(world->tag_key))
		return "a missing or unexpected tag between muxes";
	if (fragment.flags) {
		key = fl_mux_key(world->tag_key);
		if (fragment.tag != fl_fragment_tag(&key, fragment.flags, &outer->source, &outer->destination,
						    outer->bytes + at, outer->len - at))
			return "a wrong tag between muxes";
	}
	return outer->len - at == inner->len && is_same_packet(inner, outer->bytes + at, NULL)
		   ? NULL
		   : "the inner fragment was changed";
}

/* Its header is the first extension header. */
static bool is_later_fragment(const struct ip *ip)
{
	if (!ip->ipv6)
		return fl_load_be16(ip->bytes + 6) & FL_IPV4_OFFSET;
	return ip->protocol == IPPROTO_FRAGMENT && ip->room >= FL_IPV6_LEN + 8 &&
	       fl_load_be16(ip->bytes + FL_IPV6_LEN + 2) >> 3;
}

static uint32_t icmp_sum(const struct ip *ip)
{
	uint64_t sum = ip->ipv6 ? random_sum(ip->len - ip->header + IPPROTO_ICMPV6, ip->bytes + 8, 32) : 0;

	return random_fold(random_sum(sum, ip->bytes + ip->header, ip->len - ip->header)) % 0xffff;
}

/* From the VIP to the sender, with the frame's addresses swapped. */
static const char *check_answer(const struct frame *in, const uint8_t *out, const struct ip *answer,
				const struct ip *asked, enum output kind)
{
	const uint8_t *icmp = answer->bytes + answer->header;
	uint32_t quoted = answer->len - answer->header - FL_ICMP_LEN;

	if (memcmp(out, in->bytes + 6, 6) || memcmp(out + 6, in->bytes, 6))
		return "an answer to another MAC address";
	if (memcmp(out + 12, in->bytes + 12, (size_t)(answer->bytes - out) - 12))
		return "an answer with other VLAN tags";
	if (!fl_address_equal(&answer->source, &asked->destination) ||
	    !fl_address_equal(&answer->destination, &asked->source))
		return "an answer with wrong addresses";
	if (answer->len != answer->room || answer->len < answer->header + FL_ICMP_LEN)
		return "an answer with a wrong length";
	if (!answer->ipv6 && random_fold(random_sum(0, answer->bytes, answer->header)) != 0xffff)
		return "an answer with a wrong checksum";
	if (kind == OUTPUT_ECHO) {
		if (answer->len != asked->len ||
		    memcmp(icmp + 4, asked->bytes + asked->header + 4, answer->len - answer->header - 4))
			return "an echo with other contents";
		return icmp_sum(answer) == icmp_sum(asked) ? NULL : "an echo with a wrong checksum";
	}
	if (is_later_fragment(asked))
		return "an error about a later fragment";
	if (icmp_sum(answer))
		return "an error with a wrong checksum";
	if (answer->len > (answer->ipv6 ? 1280U : 576U) || quoted > asked->len ||
	    memcmp(icmp + FL_ICMP_LEN, asked->bytes, quoted))
		return "an error with a wrong quote";
	return (answer->ipv6 ? fl_load_be32(icmp + 4) : fl_load_be16(icmp + 6)) < asked->len
		   ? NULL
		   : "an error about a packet that fits";
}

static bool is_error(const struct ip *ip)
{
	const uint8_t *icmp = ip->bytes + ip->header;

	return ip->ipv6 ? icmp[0] == ICMPV6_TOO_BIG
			: icmp[0] == ICMP_UNREACHABLE && icmp[1] == ICMP_FRAGMENTATION_NEEDED;
}

int check_output(const struct output_world *world, const struct frame *in, const uint8_t *out, uint32_t len,
		 const char **complaint)
{
	struct ip sent, received;
	enum output kind;
	bool wrapped;
	uint32_t at;

	*complaint = NULL;
	if (!read_frame(out, len, &sent) || sent.header < FL_IPV4_LEN || sent.header > sent.room)
		*complaint = "no IP packet";
	else if (!read_received(in, &received, &wrapped))
		*complaint = "sent for a frame without an IP packet";
	else if (is_self(&sent.destination) || is_vip(world, &sent.destination))
		*complaint = "sent to the mux itself";
	if (*complaint)
		return -1;
	if (is_vip(world, &sent.source)) {
		if (sent.protocol != (sent.ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP) ||
		    sent.room < sent.header + FL_ICMP_LEN) {
			*complaint = "sent from a VIP, but not ICMP";
			return -1;
		}
		kind = is_error(&sent) ? OUTPUT_TOO_BIG : OUTPUT_ECHO;
		*complaint = check_answer(in, out, &sent, &received, kind);
		return *complaint ? -1 : (int)kind;
	}
	*complaint = check_outer(&sent, &at);
	if (!*complaint)
		*complaint = check_way(world, out, &sent);
	if (*complaint)
		return -1;
	kind = sent.protocol == IPPROTO_UDP && is_fragment(sent.bytes + at) ? OUTPUT_FORWARDED : OUTPUT_STEERED;
	*complaint = kind == OUTPUT_FORWARDED ? check_forwarded(world, &sent, at, &received, wrapped)
					      : check_steered(world, out, len, &sent, &received);
	return *complaint ? -1 : (int)kind;
}
