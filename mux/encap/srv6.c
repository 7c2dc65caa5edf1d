/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steer header in a Segment Routing Header (fairlead/srv6.h), over IPv6 alone.
 *
 *	 0 Ethernet 14		destination, source, type
 *	14 IPv6 40		traffic class, flow label, payload length	| next header 43, hop limit 64
 *	54 SRH 24		segments left, segment				| service
 *	78 TLV			all of it
 *
 * Routers that look no further than an unknown next header spread flows by the flow label (RFC 6438).
 */
#include "encap/encap.h"

#include <errno.h>
#include <string.h>

#include <fairlead/delta.h>
#include <fairlead/srv6.h>

#include "config/address.h"

enum {
	MACS_LEN = 12,
	TYPE_IPV6 = 0x86dd,
	AT_SRH = ENCAP_AT_IP + ENCAP_IPV6_LEN,
};

static int check_backend(const struct fl_delta_backend *backend, struct reason *why)
{
	char text[ADDRESS_TEXT_MAX];

	if (!fl_address_is_ipv4(&backend->address))
		return 0;
	return reason_set(why, -EAFNOSUPPORT,
			  "backend %u: address %s is IPv4; allowed with encap srv6: an IPv6 address", backend->id,
			  address_print(&backend->address, text));
}

static void fill(struct encap_template *out, uint16_t service, const struct fl_address *address,
		 const struct next_hop *hop)
{
	encap_fill_ip(out, FL_SRV6_PROTOCOL, address, hop);
	fl_store_be16(out->own, service);
}

static uint32_t overhead(const struct encap_template *template, uint8_t flags)
{
	(void)template;
	return ENCAP_IPV6_LEN + fl_srv6_len(flags);
}

static void write_tag(uint8_t *srh, uint32_t len, const struct fl_steer *steer, const struct encap_fields *fields)
{
	struct fl_tag_message message;
	const uint8_t *inner = srh + len;

	/* never false: a generation is not 0, and the inner packet was classified */
	if (fl_srv6_tag_message(srh, steer, inner, inner + fields->inner_len, &message))
		fl_tag_store(fl_srv6_part(srh, fl_srv6_before_tag(fields->flags)), fl_tag(fields->tag_key, &message));
}

static void write(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields)
{
	const struct fl_address destination = encap_destination(template);
	const struct fl_steer steer = {.inner_protocol = fields->inner_protocol,
				       .flags = fields->flags,
				       .service = fl_load_be16(template->own),
				       .bucket = fields->bucket,
				       .generation = fields->generation,
				       .since = fields->since,
				       .previous = fields->previous,
				       .second = fields->second};
	uint8_t *ip = out + ENCAP_AT_IP, *srh = out + AT_SRH;
	uint32_t len = fl_srv6_write(&steer, &destination, srh);

	memcpy(out, template->macs, MACS_LEN);
	fl_store_be16(out + MACS_LEN, TYPE_IPV6);
	fl_store_be32(ip, 6U << 28 | (uint32_t)fields->tos << 20 | fields->hash >> 12);
	fl_store_be16(ip + 4, (uint16_t)(len + fields->inner_len));
	ip[6] = FL_SRV6_PROTOCOL;
	ip[7] = ENCAP_TTL;
	memcpy(ip + 8, template->addresses, 32);
	if (fields->flags & FL_STEER_TAG)
		write_tag(srh, len, &steer, fields);
}

const struct encap encap_srv6 = {
    .name = "srv6",
    .has_bucket = true,
    .check_backend = check_backend,
    .fill = fill,
    .overhead = overhead,
    .write = write,
};
