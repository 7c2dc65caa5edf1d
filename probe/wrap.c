/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#include <netinet/in.h>
#include <string.h>

#include <fairlead/keys.h>
#include <fairlead/list_srv6.h>

enum {
	PORTS_LEN = 4,
};

_Static_assert((int)WRAP_HEADROOM >= (int)ENCAP_AT_IP + (int)FL_IPV6_LEN + (int)FL_LIST_SRV6_LEAST_LEN +
					 (int)FL_LIST_SRV6_TLV_LEN + (int)FL_LIST_TAG_LEN,
	       "room for the longest header");

static bool read_ipv4(const uint8_t *ip, size_t len, struct wrap_flow *out, const uint8_t **l4)
{
	size_t header = (ip[0] & 15) * 4U;

	if (len < FL_IPV4_LEN || header < FL_IPV4_LEN || len < header + PORTS_LEN || fl_load_be16(ip + 2) != len ||
	    fl_load_be16(ip + 6) & FL_IPV4_FRAGMENT)
		return false;
	out->is_ipv6 = false;
	out->traffic_class = ip[1];
	out->protocol = ip[9];
	out->source = fl_address_from_ipv4(ip + 12);
	out->destination = fl_address_from_ipv4(ip + 16);
	*l4 = ip + header;
	return true;
}

static bool read_ipv6(const uint8_t *ip, size_t len, struct wrap_flow *out, const uint8_t **l4)
{
	if (len < FL_IPV6_LEN + PORTS_LEN || fl_load_be16(ip + 4) + (size_t)FL_IPV6_LEN != len)
		return false;
	out->is_ipv6 = true;
	out->traffic_class = (uint8_t)(fl_load_be16(ip) >> 4);
	out->protocol = ip[6];
	memcpy(&out->source, ip + 8, sizeof(out->source));
	memcpy(&out->destination, ip + 24, sizeof(out->destination));
	*l4 = ip + FL_IPV6_LEN;
	return true;
}

bool wrap_flow_read(const uint8_t *packet, size_t len, struct wrap_flow *out)
{
	const uint8_t *l4 = NULL;
	bool is_ip = len && (packet[0] >> 4 == 4   ? read_ipv4(packet, len, out, &l4)
			     : packet[0] >> 4 == 6 ? read_ipv6(packet, len, out, &l4)
						   : false);

	if (!is_ip || (out->protocol != IPPROTO_TCP && out->protocol != IPPROTO_UDP))
		return false;
	out->source_port = fl_load_be16(l4);
	out->destination_port = fl_load_be16(l4 + 2);
	return true;
}

static uint32_t hash_of(const struct wrap *wrap, const struct wrap_flow *flow)
{
	uint32_t skip = flow->is_ipv6 ? 0 : 12, size = 16 - skip;
	uint8_t key[FL_KEY_IPV6_LEN];

	memcpy(key, flow->source.bytes + skip, size);
	memcpy(key + size, flow->destination.bytes + skip, size);
	fl_store_be16(key + 2 * size, flow->source_port);
	fl_store_be16(key + 2 * size + 2, flow->destination_port);
	key[2 * size + 4] = flow->protocol;
	return (uint32_t)fl_flow_hash(wrap->hash, wrap->key, key, 2 * size + 5);
}

/* RFC 1624: the checksum of a header of which one word changes. */
static uint16_t checksum_changed(uint16_t checksum, uint16_t before, uint16_t after)
{
	uint32_t sum = (uint16_t)~checksum + (uint32_t)(uint16_t)~before + after;

	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

static void keep_local(uint8_t *packet, bool is_ipv6)
{
	uint16_t before = fl_load_be16(packet + 8);

	if (is_ipv6) {
		packet[7] = WRAP_TTL;
		return;
	}
	packet[8] = WRAP_TTL;
	fl_store_be16(packet + 10, checksum_changed(fl_load_be16(packet + 10), before, fl_load_be16(packet + 8)));
}

uint32_t wrap_write(const struct wrap *wrap, const struct wrap_flow *flow, uint8_t *packet, size_t len)
{
	const struct next_hop hop = {.source = wrap->source}; /* Ethernet is not sent */
	struct fl_list list = {
	    .inner_protocol = flow->is_ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4,
	    .flags = fl_address_is_ipv4(&wrap->backend) ? 0 : FL_LIST_IPV6,
	    .service = wrap->service,
	    .generation = wrap->generation,
	};
	struct fl_siphash_key key;
	struct encap_fields fields = {
	    .inner_len = (uint16_t)len,
	    .tos = flow->traffic_class,
	    .hash = hash_of(wrap, flow),
	    .tag_key = &key,
	    .list = &list,
	};
	struct encap_template template = {0};
	uint32_t overhead;

	if (wrap->tag_key && wrap->encap->has_tags) {
		key = fl_list_key(wrap->tag_key, wrap->service);
		list.flags |= fl_key_bit(wrap->tag_key) ? FL_LIST_TAG | FL_LIST_KEY : FL_LIST_TAG;
	}
	keep_local(packet, flow->is_ipv6);
	wrap->encap->fill(&template, wrap->service, &wrap->backend, &hop);
	overhead = wrap->encap->overhead(&template, 0, list.flags);
	wrap->encap->write(packet - overhead - ENCAP_AT_IP, &template, &fields);
	return overhead;
}
