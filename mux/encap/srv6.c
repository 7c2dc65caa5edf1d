/* SPDX-License-Identifier: Apache-2.0 */
#include "encap/srv6.h"

#include <errno.h>
#include <string.h>

#include <fairlead/delta.h>
#include <fairlead/list_tag.h>

#include "config/address.h"

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
	encap_fill_ip(out, SRV6_PROTOCOL, address, hop);
	out->plain = hop->vlan ? ENCAP_PLAIN_NONE : ENCAP_PLAIN_SRV6;
	fl_store_be16(out->service, service);
}

static uint32_t overhead(const struct encap_template *template, uint8_t count, uint8_t flags)
{
	(void)template;
	return FL_IPV6_LEN + fl_list_srv6_len(count, flags);
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
	uint8_t *srh = out + SRV6_AT_SRH;
	uint32_t len = fl_list_srv6_write(fields->list, &to, srh);

	encap_write_ipv6(out, template, SRV6_PROTOCOL, fields->tos, fields->hash, len + fields->inner_len);
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
