/* SPDX-License-Identifier: Apache-2.0 */
#include "encap/encap.h"

#include <fairlead/tag.h>

enum {
	MACS_LEN = 12,
	TYPE_IPV4 = 0x0800,
	TYPE_VLAN = 0x8100,
	TYPE_IPV6 = 0x86dd,
	PROTOCOL_UDP = 17,
};

/* The one's-complement sum of an IPv4 header's words, folded. */
static uint16_t sum(const uint8_t *header)
{
	uint32_t total = 0;

	for (int i = 0; i < ENCAP_IPV4_LEN; i += 2)
		total += fl_load_be16(header + i);
	total = (total & 0xffff) + (total >> 16);
	return (uint16_t)((total & 0xffff) + (total >> 16));
}

static void template_ipv4(struct backend *backend, const uint8_t *steer, const struct fl_address *address,
			  const struct next_hop *hop)
{
	static const uint8_t ip[12] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, ENCAP_TTL, PROTOCOL_UDP, 0, 0};
	uint8_t *head = backend->head;

	memcpy(head, hop->mac, 6);
	memcpy(head + 6, hop->source_mac, 6);
	fl_store_be16(head + MACS_LEN, TYPE_IPV4);
	memcpy(head + ENCAP_AT_IP, ip, sizeof(ip));
	memcpy(head + ENCAP_AT_IP + 12, hop->source.bytes + 12, 4);
	memcpy(head + ENCAP_AT_IP + 16, address->bytes + 12, 4);
	fl_store_be16(head + ENCAP_AT_UDP + 2, FL_GUE_PORT);
	memcpy(head + ENCAP_AT_GUE, steer, FL_STEER_AT_BUCKET);
	backend->sum = sum(head + ENCAP_AT_IP);
}

static void template_ipv6(struct backend *backend, const uint8_t *steer, const struct fl_address *address,
			  const struct next_hop *hop)
{
	backend->ipv6 = 1;
	memcpy(backend->macs, hop->mac, 6);
	memcpy(backend->macs + 6, hop->source_mac, 6);
	memcpy(backend->addresses, hop->source.bytes, 16);
	memcpy(backend->addresses + 16, address->bytes, 16);
	memcpy(backend->service, steer + FL_STEER_AT_SERVICE, 2);
}

void encap_template(struct backend *backend, uint16_t service, const struct fl_address *address,
		    const struct next_hop *hop)
{
	const struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4, .service = service};
	uint8_t gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];

	memset(backend, 0, sizeof(*backend));
	fl_steer_write(&steer, gue);
	if (fl_address_is_ipv4(address))
		template_ipv4(backend, gue, address, hop);
	else
		template_ipv6(backend, gue, address, hop);
	backend->port = hop->port;
	backend->mtu = hop->mtu;
	backend->vlan = hop->vlan;
	if (hop->loop)
		backend->state = BACKEND_LOOP;
	else
		backend->state = hop->resolved ? BACKEND_READY : BACKEND_NO_NEIGHBOUR;
}

struct fl_address encap_destination(const struct backend *backend)
{
	struct fl_address address;

	if (!backend->ipv6)
		return fl_address_from_ipv4(backend->head + ENCAP_AT_IP + 16);
	memcpy(address.bytes, backend->addresses + 16, 16);
	return address;
}

/* Everything up to UDP, its destination port, and GUE and steer as in a template; returns where UDP stands. */
static uint8_t *write_ipv6(uint8_t *out, const struct backend *backend, const struct encap_fields *fields,
			   uint32_t udp_len)
{
	uint8_t *ip = out + ENCAP_AT_IP, *udp = out + ENCAP_AT_UDP6, *gue = out + ENCAP_AT_GUE6;

	memcpy(out, backend->macs, MACS_LEN);
	fl_store_be16(out + MACS_LEN, TYPE_IPV6);
	/* the flow label spreads flows where routers do not look behind IPv6 (RFC 6438) */
	fl_store_be32(ip, 6U << 28 | (uint32_t)fields->tos << 20 | fields->hash >> 12);
	fl_store_be16(ip + 4, (uint16_t)udp_len);
	ip[6] = PROTOCOL_UDP;
	ip[7] = ENCAP_TTL;
	memcpy(ip + 8, backend->addresses, 32);
	fl_store_be16(udp + 2, FL_GUE_PORT);
	fl_store_be16(udp + 6, 0);
	gue[0] = FL_STEER_BASE_LEN / 4;
	gue[2] = 0;
	gue[3] = 0;
	gue[FL_STEER_AT_VERSION] = FL_STEER_VERSION << 4;
	gue[FL_STEER_AT_FLAGS] = 0;
	memcpy(gue + FL_STEER_AT_SERVICE, backend->service, 2);
	return udp;
}

/* The same over IPv4. */
static uint8_t *write_ipv4(uint8_t *out, const struct backend *backend, const struct encap_fields *fields,
			   uint32_t udp_len)
{
	uint32_t ip_len = ENCAP_IPV4_LEN + udp_len;

	memcpy(out, backend->head, BACKEND_HEAD_LEN);
	out[ENCAP_AT_IP + 1] = fields->tos;
	fl_store_be16(out + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	fl_store_be16(out + ENCAP_AT_IP + 10, encap_checksum(backend, fields->tos, ip_len));
	return out + ENCAP_AT_UDP;
}

/* What the flags ask for, behind a header that is complete but for them. */
static void write_flags(uint8_t *gue, const struct encap_fields *fields)
{
	uint8_t *at = gue + FL_STEER_AT_SINCE;

	gue[0] = (uint8_t)(fl_steer_len(fields->flags) / 4);
	gue[FL_STEER_AT_FLAGS] = fields->flags;
	if (fields->flags & FL_STEER_MOVED) {
		uint32_t size = fields->flags & FL_STEER_PREVIOUS6 ? 16 : 4;

		fl_store_be32(at, fields->since);
		memcpy(at + 4, fields->previous.bytes + 16 - size, size);
		at += 4 + size;
	}
	if (fields->flags & FL_STEER_TAG) {
		const struct fl_steer steer = {.inner_protocol = fields->inner_protocol,
					       .flags = fields->flags,
					       .since = fields->since,
					       .previous = fields->previous};
		const uint8_t *inner = at + FL_STEER_TAG_LEN;
		struct fl_tag_message message;

		fl_tag_message(gue, &steer, inner, inner + fields->inner_len, &message);
		fl_tag_store(at, fl_tag(fields->tag_key, &message));
	}
}

void encap_write(uint8_t *out, const struct backend *backend, const struct encap_fields *fields)
{
	uint32_t at_udp = backend->ipv6 ? ENCAP_AT_UDP6 : ENCAP_AT_UDP;
	uint32_t udp_len = encap_len(backend, fields->flags) - at_udp + fields->inner_len;
	uint8_t *udp =
	    backend->ipv6 ? write_ipv6(out, backend, fields, udp_len) : write_ipv4(out, backend, fields, udp_len);
	uint8_t *gue = udp + ENCAP_UDP_LEN;

	fl_store_be16(udp, fl_outer_source_port(fields->hash));
	fl_store_be16(udp + 4, (uint16_t)udp_len);
	gue[1] = fields->inner_protocol;
	fl_store_be32(gue + FL_STEER_AT_BUCKET, fields->bucket);
	fl_store_be32(gue + FL_STEER_AT_GENERATION, fields->generation);
	if (fields->flags)
		write_flags(gue, fields);
}

void encap_write_ipip(uint8_t *out, const struct backend *backend, const struct encap_fields *fields)
{
	struct fl_ipip ipip = {
	    .traffic_class = fields->tos, .inner_len = fields->inner_len, .generation = fields->generation};

	memcpy(ipip.source, backend->head + ENCAP_AT_IP + 12, 4);
	memcpy(ipip.destination, backend->head + ENCAP_AT_IP + 16, 4);
	if (fields->flags & FL_STEER_MOVED && !(fields->flags & FL_STEER_PREVIOUS6)) {
		memcpy(ipip.previous, fields->previous.bytes + 12, 4);
		ipip.since = fields->since;
	}
	memcpy(out, backend->head, ENCAP_AT_IP);
	fl_ipip_write(&ipip, out + ENCAP_AT_IP);
}

void encap_write_vlan(uint8_t *out, uint16_t vlan)
{
	memmove(out, out + ENCAP_VLAN_LEN, MACS_LEN);
	fl_store_be16(out + MACS_LEN, TYPE_VLAN);
	fl_store_be16(out + MACS_LEN + 2, vlan);
}
