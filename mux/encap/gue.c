/* SPDX-License-Identifier: Apache-2.0 */
#include "encap/gue.h"

#include <netinet/in.h>

#include <fairlead/list_tag.h>

static void fill(struct encap_template *out, uint16_t service, const struct fl_address *address,
		 const struct next_hop *hop)
{
	const struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = service};
	uint8_t gue[FL_LIST_MAX_LEN];

	fl_list_write(&list, gue);
	encap_fill_ip(out, IPPROTO_UDP, address, hop);
	if (out->ipv6)
		return;
	out->plain = hop->vlan ? ENCAP_PLAIN_NONE : ENCAP_PLAIN_GUE;
	fl_store_be16(out->head + GUE_AT_UDP + 2, FL_LIST_GUE_PORT);
	memcpy(out->head + GUE_AT_GUE, gue, FL_LIST_AT_GENERATION);
}

static uint32_t overhead(const struct encap_template *template, uint8_t count, uint8_t flags)
{
	uint32_t len = template->ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE;

	return len - ENCAP_AT_IP + fl_list_len(count, template->ipv6 ? flags | FL_LIST_IPV6 : flags);
}

static uint8_t *write_ipv6(uint8_t *out, const struct encap_template *template, uint8_t tos, uint32_t hash,
			   uint32_t udp_len)
{
	uint8_t *udp = encap_write_ipv6(out, template, IPPROTO_UDP, tos, hash, udp_len);

	fl_store_be16(udp + 2, FL_LIST_GUE_PORT);
	fl_store_be16(udp + 6, 0);
	return udp;
}

static uint8_t *write_ipv4(uint8_t *out, const struct encap_template *template, uint8_t tos, uint32_t udp_len)
{
	uint32_t ip_len = FL_IPV4_LEN + udp_len;

	memcpy(out, template->head, GUE_AT_GUE);
	out[ENCAP_AT_IP + 1] = tos;
	fl_store_be16(out + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	fl_store_be16(out + ENCAP_AT_IP + 10, gue_checksum(template, tos, ip_len));
	return out + GUE_AT_UDP;
}

void gue_write_outer(uint8_t *out, const struct encap_template *template, uint8_t tos, uint32_t hash, uint32_t len)
{
	uint8_t *udp = template->ipv6 ? write_ipv6(out, template, tos, hash, FL_UDP_LEN + len)
				      : write_ipv4(out, template, tos, FL_UDP_LEN + len);

	fl_store_be16(udp, fl_outer_source_port(hash));
	fl_store_be16(udp + 4, (uint16_t)(FL_UDP_LEN + len));
}

static void write_tag(uint8_t *gue, uint32_t len, const struct encap_template *template,
		      const struct encap_fields *fields)
{
	const struct fl_address to = encap_destination(template);
	const uint8_t *inner = gue + len;
	struct fl_list_message message;

	/* never false: the inner packet was classified */
	if (fl_list_tag_message(fields->list, &to, inner, inner + fields->inner_len, &message))
		fl_store_be64(gue + len - FL_LIST_TAG_LEN, fl_list_tag(fields->tag_key, &message));
}

static void write(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields)
{
	const uint32_t len = fl_list_len(fields->list->count, fields->list->flags);
	uint8_t *gue = out + (template->ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE);

	gue_write_outer(out, template, fields->tos, fields->hash, len + fields->inner_len);
	fl_list_write(fields->list, gue);
	if (fields->list->flags & FL_LIST_TAG)
		write_tag(gue, len, template, fields);
}

const struct encap encap_gue = {
    .name = "gue",
    .has_tags = true,
    .check_backend = encap_refuse_foreign,
    .fill = fill,
    .overhead = overhead,
    .write = write,
};
