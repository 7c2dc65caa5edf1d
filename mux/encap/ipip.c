/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Beamer paper's own encapsulation (fairlead/ipip.h): IPv4 in IPv4, with an option of 16 bytes. The time that the
 * paper's servers want of a move is the present one: a mux names a former owner only as long as that counts.
 */
#include "encap/encap.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <fairlead/delta.h>
#include <fairlead/ipip.h>

#include "config/address.h"
#include "config/service_config.h"

/* The option can't hold an IPv6 address, nor stand for a packet without a bucket. */
static int check(const struct service_config *config, struct reason *why)
{
	char text[ADDRESS_TEXT_MAX];

	for (uint32_t i = 0; i < config->vips_count; i++)
		if (!fl_address_is_ipv4(&config->vips[i]))
			return reason_set(why, -EINVAL, "vips[%u] is '%s'; allowed with encap ipip: IPv4 addresses", i,
					  address_print(&config->vips[i], text));
	if (config->mptcp.last || config->quic.length)
		return reason_set(why, -EINVAL, "encap is 'ipip' with %s; allowed: gue, srv6",
				  config->mptcp.last ? "mptcpPorts" : "quicServerId");
	return 0;
}

static int check_backend(const struct fl_delta_backend *backend, struct reason *why)
{
	char text[ADDRESS_TEXT_MAX];

	if (fl_address_is_ipv4(&backend->address))
		return encap_refuse_foreign(backend, why);
	return reason_set(why, -EAFNOSUPPORT,
			  "backend %u: address %s is IPv6; allowed with encap ipip: an IPv4 address", backend->id,
			  address_print(&backend->address, text));
}

static void fill(struct encap_template *out, uint16_t service, const struct fl_address *address,
		 const struct next_hop *hop)
{
	uint8_t *ip = out->head + ENCAP_AT_IP;

	(void)service; /* the outer header does not name it */
	encap_fill_ip(out, IPPROTO_IPIP, address, hop);
	ip[0] = FL_IPIP_VERSION_IHL;
	ip[FL_IPIP_AT_OPTION] = FL_IPIP_OPTION_TYPE;
	ip[FL_IPIP_AT_OPTION_LEN] = FL_IPIP_OPTION_LEN;
	out->sum = encap_sum(ip, FL_IPIP_LEN);
	out->plain = hop->vlan ? ENCAP_PLAIN_NONE : ENCAP_PLAIN_IPIP;
}

static uint32_t overhead(const struct encap_template *template, uint8_t count, uint8_t flags)
{
	(void)template;
	(void)count;
	(void)flags;
	return FL_IPIP_LEN;
}

/* The option has room for one candidate, and for no flags. */
static void write(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields)
{
	struct fl_ipip ipip = {
	    .traffic_class = fields->tos, .inner_len = fields->inner_len, .generation = fields->list->generation};

	memcpy(ipip.source, template->head + ENCAP_AT_IP + 12, 4);
	memcpy(ipip.destination, template->head + ENCAP_AT_IP + 16, 4);
	if (fields->list->count) {
		memcpy(ipip.previous, fields->list->candidate[0].bytes + 12, 4);
		ipip.since = fields->now ? fields->now : 1; /* 0 would be none */
	}
	memcpy(out, template->head, ENCAP_AT_IP);
	fl_ipip_write(&ipip, out + ENCAP_AT_IP);
}

const struct encap encap_ipip = {
    .name = "ipip",
    .check = check,
    .names_one = true,
    .check_backend = check_backend,
    .fill = fill,
    .overhead = overhead,
    .write = write,
};
