/* SPDX-License-Identifier: Apache-2.0 */
#include "encap/gue.h"

#include <fairlead/list_tag.h>
#include <fairlead/tag.h>

enum {
	MACS_LEN = 12,
	TYPE_IPV6 = 0x86dd,
	PROTOCOL_UDP = 17,
};

/* gue: the header's first bytes, up to where packets differ. */
static void fill_with(struct encap_template *out, const uint8_t gue[FL_STEER_AT_BUCKET], enum encap_plain plain,
		      const struct fl_address *address, const struct next_hop *hop)
{
	encap_fill_ip(out, PROTOCOL_UDP, address, hop);
	out->plain = !out->ipv6 && !hop->vlan ? (uint8_t)plain : ENCAP_PLAIN_NONE;
	if (out->ipv6) {
		memcpy(out->own, gue + FL_STEER_AT_SERVICE, 2);
		return;
	}
	fl_store_be16(out->head + GUE_AT_UDP + 2, FL_GUE_PORT);
	memcpy(out->head + GUE_AT_GUE, gue, FL_STEER_AT_BUCKET);
}

static void fill(struct encap_template *out, uint16_t service, const struct fl_address *address,
		 const struct next_hop *hop)
{
	const struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4, .service = service};
	uint8_t gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];

	fl_steer_write(&steer, gue);
	fill_with(out, gue, ENCAP_PLAIN_GUE, address, hop);
}

static void fill_listed(struct encap_template *out, uint16_t service, const struct fl_address *address,
			const struct next_hop *hop)
{
	const struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = service};
	uint8_t gue[FL_LIST_MAX_LEN];

	fl_list_write(&list, gue);
	fill_with(out, gue, ENCAP_PLAIN_LIST, address, hop);
}

uint32_t gue_overhead(const struct encap_template *template, uint8_t flags)
{
	uint32_t len = template->ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE;

	return len - ENCAP_AT_IP + FL_GUE_BASE_LEN + (flags ? fl_steer_len(flags) : (uint32_t)FL_STEER_BASE_LEN);
}

static uint32_t overhead_listed(const struct encap_template *template, uint8_t flags)
{
	const uint8_t addresses = FL_STEER_MOVED | FL_STEER_SECOND;
	const uint8_t ipv6 = FL_STEER_PREVIOUS6 | FL_STEER_SECOND6 | FL_STEER_PREVIOUS2_6;
	uint32_t len = template->ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE;
	uint8_t list_flags = flags & ipv6 || template->ipv6 ? FL_LIST_IPV6 : 0;

	list_flags |= flags & FL_STEER_TAG ? FL_LIST_TAG : 0;
	return len - ENCAP_AT_IP + fl_list_len(flags & addresses ? FL_LIST_MAX : 0, list_flags);
}

/* Writes Ethernet, IP, UDP's destination port, GUE and steer for a template; returns UDP's offset. */
static uint8_t *write_ipv6(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields,
			   uint32_t udp_len)
{
	uint8_t *ip = out + ENCAP_AT_IP, *udp = out + GUE_AT_UDP6, *gue = out + GUE_AT_GUE6;

	memcpy(out, template->macs, MACS_LEN);
	fl_store_be16(out + MACS_LEN, TYPE_IPV6);
	/* the flow label spreads flows where routers do not look behind IPv6 (RFC 6438) */
	fl_store_be32(ip, 6U << 28 | (uint32_t)fields->tos << 20 | fields->hash >> 12);
	fl_store_be16(ip + 4, (uint16_t)udp_len);
	ip[6] = PROTOCOL_UDP;
	ip[7] = ENCAP_TTL;
	memcpy(ip + 8, template->addresses, 32);
	fl_store_be16(udp + 2, FL_GUE_PORT);
	fl_store_be16(udp + 6, 0);
	gue[0] = FL_STEER_BASE_LEN / 4;
	gue[2] = 0;
	gue[3] = 0;
	gue[FL_STEER_AT_VERSION] = FL_STEER_VERSION << 4;
	gue[FL_STEER_AT_FLAGS] = 0;
	memcpy(gue + FL_STEER_AT_SERVICE, template->own, 2);
	return udp;
}

/* The same for IPv4. */
static uint8_t *write_ipv4(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields,
			   uint32_t udp_len)
{
	uint32_t ip_len = ENCAP_IPV4_LEN + udp_len;

	memcpy(out, template->head, ENCAP_HEAD_LEN);
	out[ENCAP_AT_IP + 1] = fields->tos;
	fl_store_be16(out + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	fl_store_be16(out + ENCAP_AT_IP + 10, gue_checksum(template, fields->tos, ip_len));
	return out + GUE_AT_UDP;
}

/* Writes the optional parts that the flags ask for, behind an otherwise complete header. */
static void write_flags(uint8_t *gue, const struct encap_fields *fields)
{
	uint8_t *at = gue + FL_STEER_AT_SINCE;

	gue[0] = (uint8_t)(fl_steer_len(fields->flags) / 4);
	gue[FL_STEER_AT_FLAGS] = fields->flags;
	if (fields->flags & FL_STEER_SECOND)
		at +=
		    fl_steer_store(at, fields->flags & FL_STEER_SECOND6, fields->second.bucket, &fields->second.owner);
	if (fields->flags & FL_STEER_MOVED2)
		at += fl_steer_store(at, fields->flags & FL_STEER_PREVIOUS2_6, fields->second.since,
				     &fields->second.previous);
	if (fields->flags & FL_STEER_MOVED)
		at += fl_steer_store(at, fields->flags & FL_STEER_PREVIOUS6, fields->since, &fields->previous);
	if (fields->flags & FL_STEER_TAG) {
		const struct fl_steer steer = {.inner_protocol = fields->inner_protocol,
					       .flags = fields->flags,
					       .since = fields->since,
					       .previous = fields->previous,
					       .second = fields->second};
		const uint8_t *inner = at + FL_STEER_TAG_LEN;
		struct fl_tag_message message;

		fl_tag_message(gue, &steer, inner, inner + fields->inner_len, &message);
		fl_tag_store(at, fl_tag(fields->tag_key, &message));
	}
}

void gue_write(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields)
{
	uint32_t at_udp = template->ipv6 ? GUE_AT_UDP6 : GUE_AT_UDP;
	uint32_t udp_len = ENCAP_AT_IP + gue_overhead(template, fields->flags) - at_udp + fields->inner_len;
	uint8_t *udp =
	    template->ipv6 ? write_ipv6(out, template, fields, udp_len) : write_ipv4(out, template, fields, udp_len);
	uint8_t *gue = udp + GUE_UDP_LEN;

	fl_store_be16(udp, fl_outer_source_port(fields->hash));
	fl_store_be16(udp + 4, (uint16_t)udp_len);
	gue[1] = fields->inner_protocol;
	fl_store_be32(gue + FL_STEER_AT_BUCKET, fields->bucket);
	fl_store_be32(gue + FL_STEER_AT_GENERATION, fields->generation);
	if (fields->flags)
		write_flags(gue, fields);
}

static void write_list_tag(uint8_t *gue, uint32_t len, const struct encap_template *template,
			   const struct encap_fields *fields)
{
	const struct fl_address to = encap_destination(template);
	const uint8_t *inner = gue + len;
	struct fl_list_message message;

	/* never false: the inner packet was classified */
	if (fl_list_tag_message(fields->list, &to, inner, inner + fields->inner_len, &message))
		fl_store_be64(gue + len - FL_LIST_TAG_LEN, fl_list_tag(fields->tag_key, &message));
}

static void write_listed(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields)
{
	const uint32_t len = fl_list_len(fields->list->count, fields->list->flags);
	const uint32_t udp_len = GUE_UDP_LEN + len + fields->inner_len;
	uint8_t *udp =
	    template->ipv6 ? write_ipv6(out, template, fields, udp_len) : write_ipv4(out, template, fields, udp_len);
	uint8_t *gue = udp + GUE_UDP_LEN;

	fl_store_be16(udp, fl_outer_source_port(fields->hash));
	fl_store_be16(udp + 4, (uint16_t)udp_len);
	fl_list_write(fields->list, gue);
	if (fields->list->flags & FL_LIST_TAG)
		write_list_tag(gue, len, template, fields);
}

const struct encap encap_gue_listed = {
    .name = "gue",
    .has_lists = true,
    .fill = fill_listed,
    .overhead = overhead_listed,
    .write = write_listed,
};

const struct encap encap_gue = {
    .name = "gue",
    .has_bucket = true,
    .fill = fill,
    .overhead = gue_overhead,
    .write = gue_write,
};
