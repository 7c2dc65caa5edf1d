/* SPDX-License-Identifier: Apache-2.0 */
#include "encap.h"

/* The one's-complement sum of an IPv4 header's words, folded. */
static uint16_t sum(const uint8_t *header)
{
	uint32_t total = 0;

	for (int i = 0; i < 20; i += 2)
		total += fl_load_be16(header + i);
	total = (total & 0xffff) + (total >> 16);
	return (uint16_t)((total & 0xffff) + (total >> 16));
}

void encap_template(struct backend *backend, uint16_t service, const struct fl_address *address,
		    const struct next_hop *hop)
{
	static const uint8_t ip[12] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, ENCAP_TTL, 17, 0, 0};
	const struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4, .service = service};
	uint8_t gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];
	uint8_t *head = backend->head;

	memset(backend, 0, sizeof(*backend));
	memcpy(head, hop->mac, 6);
	memcpy(head + 6, hop->source_mac, 6);
	fl_store_be16(head + 12, 0x0800);
	memcpy(head + ENCAP_AT_IP, ip, sizeof(ip));
	memcpy(head + ENCAP_AT_IP + 12, hop->source, 4);
	memcpy(head + ENCAP_AT_IP + 16, address->bytes + 12, 4);
	fl_store_be16(head + ENCAP_AT_UDP + 2, FL_GUE_PORT);
	fl_steer_write(&steer, gue);
	memcpy(head + ENCAP_AT_GUE, gue, FL_GUE_BASE_LEN + FL_STEER_BASE_LEN);
	backend->sum = sum(head + ENCAP_AT_IP);
	backend->port = hop->port;
	backend->mtu = hop->mtu;
	backend->state = hop->resolved ? BACKEND_READY : BACKEND_NO_NEIGHBOUR;
}
