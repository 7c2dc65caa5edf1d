/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list as a Segment Routing Header (fairlead/list_srv6.h), over IPv6 alone.
 *
 *	 0 Ethernet 14		destination, source, type
 *	14 IPv6 40		traffic class, flow label, payload length	| next header 43, hop limit 64
 *	54 SRH			segments left, segments, TLV			| service
 *
 * Routers that look no further than an unknown next header spread flows by the flow label (RFC 6438).
 */
#include "encap/encap.h"

#include <errno.h>
#include <string.h>

#include <fairlead/delta.h>
#include <fairlead/list_srv6.h>
#include <fairlead/list_tag.h>

#include "config/address.h"

enum {
	MACS_LEN = 12,
	TYPE_IPV6 = 0x86dd,
	AT_SRH = ENCAP_AT_IP + ENCAP_IPV6_LEN,
	PROTOCOL_ROUTING = 43,
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
	(void)service; /* the list has it */
	encap_fill_ip(out, PROTOCOL_ROUTING, address, hop);
}

static uint32_t overhead(const struct encap_template *template, uint8_t count, uint8_t flags)
{
	(void)template;
	return ENCAP_IPV6_LEN + fl_list_srv6_len(count, flags);
}

static void write_tag(uint8_t *srh, uint32_t len, const struct fl_address *to, const struct encap_fields *fields)
{
	const uint8_t *inner = srh + len;
	struct fl_list_message message;

	/* never false: the inner packet was classified */
	if (fl_list_tag_message(fields->list, to, inner, inner + fields->inner_len, &message))
		fl_store_be64(srh + len - FL_LIST_TAG_LEN, fl_list_tag(fields->tag_key, &message));
}

static void write(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields)
{
	const struct fl_address to = encap_destination(template);
	uint8_t *ip = out + ENCAP_AT_IP, *srh = out + AT_SRH;
	uint32_t len = fl_list_srv6_write(fields->list, &to, srh);

	memcpy(out, template->macs, MACS_LEN);
	fl_store_be16(out + MACS_LEN, TYPE_IPV6);
	fl_store_be32(ip, 6U << 28 | (uint32_t)fields->tos << 20 | fields->hash >> 12);
	fl_store_be16(ip + 4, (uint16_t)(len + fields->inner_len));
	ip[6] = PROTOCOL_ROUTING;
	ip[7] = ENCAP_TTL;
	memcpy(ip + 8, template->addresses, 32);
	if (fields->list->flags & FL_LIST_TAG)
		write_tag(srh, len, &to, fields);
}

const struct encap encap_srv6 = {
    .name = "srv6",
    .has_tags = true,
    .check_backend = check_backend,
    .fill = fill,
    .overhead = overhead,
    .write = write,
};
