/* SPDX-License-Identifier: Apache-2.0 */
#include "encap/encap.h"

#include <errno.h>
#include <string.h>

#include <fairlead/delta.h>

#define ENTRY(NAME, word) &encap_##word,

const struct encap *const encaps[FL_ENCAPS_COUNT + 1] = {FL_ENCAPS(ENTRY)};

uint16_t encap_sum(const uint8_t *header, uint32_t len)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < len; i += 2)
		total += fl_load_be16(header + i);
	total = (total & 0xffff) + (total >> 16);
	return (uint16_t)((total & 0xffff) + (total >> 16));
}

void encap_fill_ip(struct encap_template *out, uint8_t protocol, const struct fl_address *address,
		   const struct next_hop *hop)
{
	const uint8_t ip[12] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, ENCAP_TTL, protocol, 0, 0};

	memcpy(out->macs, hop->mac, 6);
	memcpy(out->macs + 6, hop->source_mac, 6);
	out->ipv6 = !fl_address_is_ipv4(address);
	fl_store_be16(out->head + FL_MACS_LEN, out->ipv6 ? FL_TYPE_IPV6 : FL_TYPE_IPV4);
	if (out->ipv6) {
		memcpy(out->addresses, hop->source.bytes, 16);
		memcpy(out->addresses + 16, address->bytes, 16);
		return;
	}
	memcpy(out->head + ENCAP_AT_IP, ip, sizeof(ip));
	memcpy(out->head + ENCAP_AT_IP + 12, hop->source.bytes + 12, 4);
	memcpy(out->head + ENCAP_AT_IP + 16, address->bytes + 12, 4);
	out->sum = encap_sum(out->head + ENCAP_AT_IP, FL_IPV4_LEN);
}

uint8_t *encap_write_ipv6(uint8_t *out, const struct encap_template *template, uint8_t protocol, uint8_t tos,
			  uint32_t hash, uint32_t len)
{
	uint8_t *ip = out + ENCAP_AT_IP;

	memcpy(out, template->head, ENCAP_AT_IP);
	/* the flow label spreads flows where routers do not look behind IPv6 (RFC 6438) */
	fl_store_be32(ip, 6U << 28 | (uint32_t)tos << 20 | hash >> 12);
	fl_store_be16(ip + 4, (uint16_t)len);
	ip[6] = protocol;
	ip[7] = ENCAP_TTL;
	memcpy(ip + 8, template->addresses, 32);
	return ip + FL_IPV6_LEN;
}

struct fl_address encap_destination(const struct encap_template *template)
{
	struct fl_address address;

	if (!template->ipv6)
		return fl_address_from_ipv4(template->head + ENCAP_AT_IP + 16);
	memcpy(address.bytes, template->addresses + 16, 16);
	return address;
}

int encap_refuse_foreign(const struct fl_delta_backend *backend, struct reason *why)
{
	if (!(backend->flags & FL_BACKEND_FOREIGN))
		return 0;
	return reason_set(why, -EAFNOSUPPORT, "backend %u: foreign; allowed with encap srv6 alone", backend->id);
}

void encap_write_vlan(uint8_t *out, uint16_t vlan)
{
	memmove(out, out + FL_VLAN_LEN, FL_MACS_LEN);
	fl_store_be16(out + FL_MACS_LEN, FL_TYPE_VLAN);
	fl_store_be16(out + FL_MACS_LEN + 2, vlan);
}
