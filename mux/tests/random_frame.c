/* SPDX-License-Identifier: Apache-2.0 */
#include "random_frame.h"

#include <netinet/in.h>
#include <string.h>

#include <fairlead/fragment.h>

#include "packet/icmp.h"

const struct fl_siphash_key random_key = {1, 2};
const char *const random_vips[] = {"10.99.0.1", "10.99.0.2", "10.99.0.3", "10.99.0.4", "10.99.0.5", "10.99.0.6"};
const char *const random_vips6[] = {"2001:db8:99::1"};

enum {
	DATAGRAMS = 40, /* ids of fragments: few, so that fragments of one datagram meet */
};

uint64_t random_sum(uint64_t sum, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i + 1 < len; i += 2)
		sum += fl_load_be16(bytes + i);
	return len & 1 ? sum + ((uint32_t)bytes[len - 1] << 8) : sum;
}

uint16_t random_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static bool one_in(struct chance *chance, uint32_t n)
{
	return !chance_below(chance, n);
}

/* A client's flow to one of the VIPs. */
static struct flow flow_of(struct chance *chance, uint8_t protocol, bool ipv6)
{
	static const uint16_t ports[] = {80, 80, 80, 80, 80, 20003, 20039, 20000};
	struct flow flow = ipv6 ? frame_flow6(protocol) : frame_flow(protocol);

	flow.destination = image_address(ipv6 ? random_vips6[0] : random_vips[chance_below(chance, RANDOM_VIPS)]);
	flow.destination_port = ports[chance_below(chance, 8)];
	if (protocol == IPPROTO_UDP)
		flow.destination_port = one_in(chance, 2) ? 443 : 53;
	if (one_in(chance, 16))
		flow.destination_port = 81;
	flow.source_port = (uint16_t)chance_below(chance, one_in(chance, 50) ? 2 : 65536);
	for (int i = 13; i < 16; i++)
		flow.source.bytes[i] = (uint8_t)chance_next(chance);
	if (one_in(chance, 100))
		flow.source = flow.destination;
	return flow;
}

static uint32_t payload_of(struct chance *chance)
{
	return one_in(chance, 8) ? chance_below(chance, 1460) : chance_below(chance, 64);
}

static void make_plain(struct chance *chance, struct frame *out)
{
	struct flow flow = flow_of(chance, one_in(chance, 3) ? IPPROTO_UDP : IPPROTO_TCP, one_in(chance, 3));

	*out = frame_new(&flow, payload_of(chance));
}

/* The TCP checksum is right: that of what comes out must be, too. */
static void make_syn(struct chance *chance, struct frame *out)
{
	static const uint8_t options[] = {2, 4, 0x05, 0xb4, 1, 3, 3, 7, 4, 2, 1, 1, 0, 0, 0, 0};
	struct flow flow = flow_of(chance, IPPROTO_TCP, one_in(chance, 3));
	bool ipv6 = !fl_address_is_ipv4(&flow.destination);
	uint32_t len = 4U * chance_below(chance, 5), nops = len >= 8 ? chance_below(chance, 4) : 0;
	uint8_t *tcp;

	*out = frame_new(&flow, len);
	tcp = out->bytes + (ipv6 ? FRAME_AT_L46 : FRAME_AT_L4);
	tcp[12] = (uint8_t)((20 + len) / 4 << 4);
	tcp[13] = 2;
	memset(tcp + 20, 1, nops); /* so that the option may be anywhere */
	memcpy(tcp + 20 + nops, options, len - nops);
	fl_store_be16(tcp + 16, 0);
	fl_store_be16(tcp + 16,
		      (uint16_t)~random_fold(random_sum(
			  random_sum(20 + len + IPPROTO_TCP, flow.source.bytes + (ipv6 ? 0 : 12), ipv6 ? 16 : 4) +
			      random_sum(0, flow.destination.bytes + (ipv6 ? 0 : 12), ipv6 ? 16 : 4),
			  tcp, 20 + len)));
}

static void make_quic(struct chance *chance, struct frame *out)
{
	struct flow flow = flow_of(chance, IPPROTO_UDP, one_in(chance, 3));
	uint8_t *udp;

	flow.destination_port = 443;
	*out = frame_new(&flow, 1 + chance_below(chance, 40));
	udp = out->bytes + out->len -
	      fl_load_be16(out->bytes + (fl_address_is_ipv4(&flow.destination) ? FRAME_AT_L4 : FRAME_AT_L46) + 4);
	udp[8] = (uint8_t)chance_next(chance);
	if (out->bytes + out->len > udp + 10) {
		udp[9] = one_in(chance, 8) ? 0xe0 : 0;
		udp[10] = (uint8_t)chance_below(chance, 60);
	}
}

/* Sets the checksum of ICMP or ICMPv6 behind the IP header. */
static void fix_icmp(struct frame *frame, bool ipv6)
{
	uint8_t *icmp = frame->bytes + (ipv6 ? FRAME_AT_L46 : FRAME_AT_L4);
	uint32_t len = frame->len - (uint32_t)(icmp - frame->bytes);
	uint64_t sum = ipv6 ? random_sum(len + IPPROTO_ICMPV6, frame->bytes + FRAME_AT_IP + 8, 32) : 0;

	fl_store_be16(icmp + 2, 0);
	fl_store_be16(icmp + 2, (uint16_t)~random_fold(random_sum(sum, icmp, len)));
}

static void make_echo(struct chance *chance, struct frame *out)
{
	bool ipv6 = one_in(chance, 2);
	struct flow flow = flow_of(chance, ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, ipv6);
	uint8_t *icmp;

	*out = frame_new(&flow, payload_of(chance));
	icmp = out->bytes + (ipv6 ? FRAME_AT_L46 : FRAME_AT_L4);
	icmp[0] = ipv6 ? ICMPV6_ECHO_REQUEST : ICMP_ECHO_REQUEST;
	icmp[1] = 0;
	if (one_in(chance, 10))
		icmp[0] = (uint8_t)chance_next(chance);
	fix_icmp(out, ipv6);
}

/* An error about a packet that a server sent: its source address and port are those of the VIP. */
static void make_error(struct chance *chance, struct frame *out)
{
	static const uint8_t types[] = {ICMP_UNREACHABLE, ICMP_TIME, ICMP_PARAMETER}, types6[] = {1, 2, 3, 4};
	bool ipv6 = one_in(chance, 2);
	struct flow flow = flow_of(chance, one_in(chance, 3) ? IPPROTO_UDP : IPPROTO_TCP, ipv6), quoted = flow;
	struct frame quote;
	uint32_t len;
	uint8_t *icmp;

	quoted.source = flow.destination;
	quoted.source_port = flow.destination_port;
	quoted.destination = flow.source;
	quoted.destination_port = flow.source_port;
	quote = frame_new(&quoted, 8);
	len = quote.len - FRAME_AT_IP;
	if (one_in(chance, 4))
		len = chance_below(chance, len + 1);
	flow.protocol = ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	*out = frame_new(&flow, len);
	icmp = out->bytes + (ipv6 ? FRAME_AT_L46 : FRAME_AT_L4);
	icmp[0] = ipv6 ? types6[chance_below(chance, 4)] : types[chance_below(chance, 3)];
	icmp[1] = (uint8_t)chance_below(chance, 5);
	memcpy(icmp + FL_ICMP_LEN, quote.bytes + FRAME_AT_IP, len);
	fix_icmp(out, ipv6);
}

/* Fragments of few datagrams, first, middle and last ones in any order. */
static void make_fragment(struct chance *chance, struct frame *out)
{
	bool ipv6 = one_in(chance, 2), first = one_in(chance, 3);
	struct flow flow = flow_of(chance, one_in(chance, 2) ? IPPROTO_UDP : IPPROTO_TCP, ipv6);
	uint32_t id = chance_below(chance, DATAGRAMS);
	uint16_t offset = first ? 0 : (uint16_t)(1 + chance_below(chance, 100)), more = one_in(chance, 2);
	uint8_t *ip, header[8] = {flow.protocol};

	memset(flow.source.bytes + 13, 7, 2);
	flow.source.bytes[15] = (uint8_t)id;
	*out = frame_new(&flow, payload_of(chance));
	ip = out->bytes + FRAME_AT_IP;
	if (ipv6) {
		fl_store_be16(header + 2, (uint16_t)(offset << 3 | more));
		fl_store_be32(header + 4, id);
		frame_insert(out, FRAME_AT_L46, header, sizeof(header));
		ip[6] = IPPROTO_FRAGMENT;
		fl_store_be16(ip + 4, (uint16_t)(out->len - FRAME_AT_L46));
		return;
	}
	fl_store_be16(ip + 4, (uint16_t)id);
	fl_store_be16(ip + 6, (uint16_t)(offset | (first || more ? FL_IPV4_MORE_FRAGMENTS : 0)));
	frame_fix_checksum(out);
}

void random_storm(struct chance *chance, uint32_t number, struct frame *out)
{
	bool echoes = number % 2;
	struct flow flow = frame_flow(echoes ? IPPROTO_ICMP : IPPROTO_UDP);
	uint8_t *ip = out->bytes + FRAME_AT_IP;

	*out = frame_new(&flow, 16);
	if (echoes) {
		out->bytes[FRAME_AT_L4] = ICMP_ECHO_REQUEST;
		out->bytes[FRAME_AT_L4 + 1] = 0;
		fix_icmp(out, false);
		return;
	}
	fl_store_be16(ip + 4, (uint16_t)(DATAGRAMS + number));
	fl_store_be16(ip + 6, (uint16_t)(1 + chance_below(chance, 1000)));
	frame_fix_checksum(out);
}

static void make_extensions(struct chance *chance, struct frame *out)
{
	static const uint8_t kinds[] = {IPPROTO_HOPOPTS, IPPROTO_DSTOPTS, IPPROTO_ROUTING, IPPROTO_AH,
					IPPROTO_FRAGMENT};
	struct flow flow = flow_of(chance, one_in(chance, 2) ? IPPROTO_UDP : IPPROTO_TCP, true);
	uint32_t count = 1 + chance_below(chance, 9);
	uint8_t *ip = out->bytes + FRAME_AT_IP;

	*out = frame_new(&flow, chance_below(chance, 64));
	for (uint32_t i = 0; i < count; i++) {
		uint8_t kind = kinds[chance_below(chance, one_in(chance, 8) ? 5 : 4)], header[16] = {ip[6]};

		header[1] = kind == IPPROTO_AH ? 2 : kind == IPPROTO_FRAGMENT ? 0 : (uint8_t)chance_below(chance, 2);
		frame_insert(out, FRAME_AT_L46, header, header[1] ? 16 : 8);
		ip[6] = kind;
	}
	fl_store_be16(ip + 4, (uint16_t)(out->len - FRAME_AT_L46));
}

static void make_options(struct chance *chance, struct frame *out)
{
	struct flow flow = flow_of(chance, one_in(chance, 2) ? IPPROTO_UDP : IPPROTO_TCP, false);
	uint32_t len = 4 * (1 + chance_below(chance, 10));
	uint8_t options[40], *ip = out->bytes + FRAME_AT_IP;

	memset(options, 1, sizeof(options));
	*out = frame_new(&flow, chance_below(chance, 64));
	frame_insert(out, FRAME_AT_L4, options, len);
	ip[0] = (uint8_t)(0x45 + len / 4);
	fl_store_be16(ip + 2, (uint16_t)(out->len - FRAME_AT_IP));
	frame_fix_checksum(out);
}

/* A fragment in the form that muxes send, from a mux or from another host, most with the right tag. */
static void make_wrapped(struct chance *chance, struct frame *out)
{
	bool ipv6 = one_in(chance, 2);
	struct flow flow = {.source = image_address(ipv6 ? RANDOM_PEER6 : RANDOM_PEER),
			    .destination = image_address(ipv6 ? RANDOM_SELF6 : RANDOM_SELF),
			    .source_port = 0xc123,
			    .destination_port = FL_LIST_GUE_PORT,
			    .protocol = IPPROTO_UDP};
	struct fl_siphash_key key = fl_mux_key(&random_key);
	struct fl_fragment fragment = {.inner_protocol = FL_LIST_GUE_IPV4};
	struct frame inner;
	uint32_t at = ipv6 ? FRAME_AT_L46 + 8 : FRAME_AT_L4 + 8, len;

	if (one_in(chance, 8))
		flow.source.bytes[15] ^= 0x40;
	if (one_in(chance, 8))
		make_plain(chance, &inner);
	else
		make_fragment(chance, &inner);
	len = inner.len - FRAME_AT_IP;
	if (inner.bytes[FRAME_AT_IP] >> 4 == 6)
		fragment.inner_protocol = FL_LIST_GUE_IPV6;
	if (!one_in(chance, 8))
		fragment.flags = FL_LIST_TAG | (fl_key_bit(&random_key) ? FL_LIST_KEY : 0);
	if (fragment.flags && !one_in(chance, 8))
		fragment.tag = fl_fragment_tag(&key, fragment.flags, &flow.source, &flow.destination,
					       inner.bytes + FRAME_AT_IP, len);
	*out = frame_new(&flow, fl_fragment_len(fragment.flags) + len);
	at += fl_fragment_write(&fragment, out->bytes + at);
	memcpy(out->bytes + at, inner.bytes + FRAME_AT_IP, len);
}

static void make_foreign(struct chance *chance, struct frame *out)
{
	static const uint16_t types[] = {0x0806, 0x88cc, 0x0800, 0x86dd, 0x8100, 0x05dc};

	make_plain(chance, out);
	switch (chance_below(chance, 4)) {
	case 0:
		out->bytes[5] ^= 1;
		break;
	case 1:
		out->bytes[FRAME_AT_IP + 18] ^= 1;
		break;
	case 2:
		fl_store_be16(out->bytes + 12, types[chance_below(chance, 6)]);
		break;
	default:
		for (uint32_t i = 6; i < out->len; i++)
			out->bytes[i] = (uint8_t)chance_next(chance);
	}
}

static void (*const makers[])(struct chance *, struct frame *) = {
    make_plain,   make_plain,   make_plain,    make_syn,      make_quic,     make_echo,
    make_error,   make_error,   make_fragment, make_fragment, make_fragment, make_extensions,
    make_options, make_wrapped, make_wrapped,  make_foreign,
};

static void tag(struct chance *chance, struct frame *frame)
{
	static const uint8_t tags[] = {0x81, 0, 0, 7, 0x88, 0xa8, 0, 9};

	frame_insert(frame, 12, tags + (one_in(chance, 2) ? 4 : 0), 4);
	if (one_in(chance, 4))
		frame_insert(frame, 12, tags + 4, 4);
}

static void bend(struct chance *chance, struct frame *frame)
{
	static const uint16_t words[] = {0, 1, 0xffff, 0x7fff, 0x8000, 0x2000, 0x1fff, 20, 40, 576, 1500};
	uint32_t first = frame->len > FRAME_AT_IP && !one_in(chance, 8) ? FRAME_AT_IP : 0; /* mostly behind Ethernet */
	uint32_t near = frame->len - first < 100 ? frame->len - first : 100;
	uint32_t at = first + chance_below(chance, one_in(chance, 4) ? frame->len - first : near);
	uint32_t left = frame->len - at, n = 1 + chance_below(chance, 16);
	uint8_t bytes[16];

	if (frame->len < 2 || left < 2)
		return;
	n = n < left ? n : left;
	switch (chance_below(chance, 8)) {
	case 0:
	case 1:
		frame->bytes[at] ^= (uint8_t)(1U << chance_below(chance, 8));
		break;
	case 2:
		frame->bytes[at] = (uint8_t)chance_next(chance);
		break;
	case 3:
		fl_store_be16(frame->bytes + at, words[chance_below(chance, 11)]);
		break;
	case 4:
		frame->len -= n;
		break;
	case 5:
		memmove(frame->bytes + at, frame->bytes + at + n, left - n);
		frame->len -= n;
		break;
	case 6:
		for (uint32_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)chance_next(chance);
		if (frame->len + n <= FRAME_MAX)
			frame_insert(frame, at, bytes, n);
		break;
	default:
		memmove(frame->bytes + chance_below(chance, frame->len - n + 1), frame->bytes + at, n);
	}
}

/* Repairs the outer IPv4 checksum and, if asked to, the IP length; with or without VLAN tags. */
static void fix(struct frame *frame, bool length)
{
	uint32_t at = FRAME_AT_IP, header;
	uint8_t *ip;

	while (at + 4 <= frame->len && (frame->bytes[at - 2] == 0x81 || frame->bytes[at - 2] == 0x88))
		at += 4;
	ip = frame->bytes + at;
	if (length && frame->len >= at + FL_IPV6_LEN && ip[0] >> 4 == 6)
		fl_store_be16(ip + 4, (uint16_t)(frame->len - at - FL_IPV6_LEN));
	if (frame->len < at + FL_IPV4_LEN || ip[0] >> 4 != 4)
		return;
	header = (ip[0] & 15) * 4U;
	if (length)
		fl_store_be16(ip + 2, (uint16_t)(frame->len - at));
	if (header < FL_IPV4_LEN || frame->len < at + header)
		return;
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, (uint16_t)~random_fold(random_sum(0, ip, header)));
}

void random_frame(struct chance *chance, struct frame *out)
{
	uint32_t bends = chance_below(chance, 3);

	makers[chance_below(chance, sizeof(makers) / sizeof(makers[0]))](chance, out);
	if (one_in(chance, 8))
		tag(chance, out);
	if (one_in(chance, 16))
		bends += chance_below(chance, 8);
	while (bends--)
		bend(chance, out);
	if (!one_in(chance, 8))
		fix(out, !one_in(chance, 4));
	if (one_in(chance, 8) && out->len < 60) { /* Ethernet padding */
		memset(out->bytes + out->len, 0, 60 - out->len);
		out->len = 60;
	}
}

/*
 * Sets a field that a lane checks to a value at the edge of what is allowed, inverts a bit of what a lane reads, or cuts
 * the frame's end off.
 */
static void damage_ipv6(struct chance *chance, struct frame *frame)
{
	static const uint8_t edges[] = {0, 1, 5, 6, 7, 8, 9, 17, 19, 20, 21, 0x20, 0xfd, 0xfe, 0xff};
	static const uint8_t fields[] = {
	    FRAME_AT_IP,      FRAME_AT_IP + 5,  FRAME_AT_IP + 6,   /* version; length; next header */
	    FRAME_AT_IP + 7,  FRAME_AT_IP + 8,  FRAME_AT_IP + 9,   /* hop limit; source */
	    FRAME_AT_IP + 24, FRAME_AT_L46 + 5, FRAME_AT_L46 + 12, /* destination; length of UDP, of TCP's header */
	};
	uint32_t bit = chance_below(chance, 8 * (FRAME_AT_L46 + 20)), kind = chance_below(chance, 10);

	if (kind == 0)
		frame->len -= chance_below(chance, frame->len - FRAME_AT_L46);
	else if (kind < 5)
		frame->bytes[fields[chance_below(chance, sizeof(fields))]] = edges[chance_below(chance, sizeof(edges))];
	else if (kind == 5) /* the VIP as source */
		memcpy(frame->bytes + FRAME_AT_IP + 8, frame->bytes + FRAME_AT_IP + 24, 16);
	else if (kind == 6) /* no source port */
		memset(frame->bytes + FRAME_AT_L46, 0, 2);
	else if (bit / 8 < frame->len)
		frame->bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
	if (kind == 7) /* a source that no host has, or a VIP as an IPv4-mapped destination */
		memset(frame->bytes + FRAME_AT_IP + (chance_below(chance, 2) ? 8 : 24), 0, 10);
}

/* The same for IPv4, mostly with a right checksum afterwards. */
static void damage_ipv4(struct chance *chance, struct frame *frame)
{
	static const uint8_t edges[] = {0, 1, 4, 5, 6, 7, 8, 9, 17, 19, 20, 21, 126, 127, 128, 223, 224, 225, 255};
	static const uint8_t fields[] = {
	    FRAME_AT_IP + 3,  /* total length */
	    FRAME_AT_IP + 6,  /* fragment */
	    FRAME_AT_IP + 7,  /* the same */
	    FRAME_AT_IP + 8,  /* TTL */
	    FRAME_AT_IP + 9,  /* protocol */
	    FRAME_AT_IP + 12, /* source */
	    FRAME_AT_L4 + 5,  /* length of UDP */
	};
	uint32_t bit = chance_below(chance, 8 * (FRAME_AT_L4 + 20)), kind = chance_below(chance, 10);

	if (kind == 0)
		frame->len -= chance_below(chance, frame->len - FRAME_AT_L4);
	else if (kind < 5)
		frame->bytes[fields[chance_below(chance, sizeof(fields))]] = edges[chance_below(chance, sizeof(edges))];
	else if (kind == 5) /* the VIP as source */
		memcpy(frame->bytes + FRAME_AT_IP + 12, frame->bytes + FRAME_AT_IP + 16, 4);
	else if (kind == 6 && chance_below(chance, 2)) { /* to this mux */
		struct fl_address self = image_address(RANDOM_SELF);

		memcpy(frame->bytes + FRAME_AT_IP + 16, self.bytes + 12, 4);
	} else if (kind == 6) /* no source port */
		memset(frame->bytes + FRAME_AT_L4, 0, 2);
	else if (bit / 8 < frame->len)
		frame->bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
	if (chance_below(chance, 4) && frame->len >= FRAME_AT_L4 && (frame->bytes[FRAME_AT_IP] & 15) == 5)
		frame_fix_checksum(frame);
}

void random_damage(struct chance *chance, bool ipv6, struct frame *frame)
{
	(ipv6 ? damage_ipv6 : damage_ipv4)(chance, frame);
}
