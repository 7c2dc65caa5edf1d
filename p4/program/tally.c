/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <netinet/in.h>
#include <string.h>

#include "encap/encap.h"
#include "packet/transport.h"
#include "ring/backend.h"
#include "ring/ring.h"
#include "service/service.h"
#include "steering/maat/maat.h"

/* The inner packet's flow, and its TCP flags; a pipeline steers no IPv4 options and no extension headers. */
static struct flow read_flow(const uint8_t *inner, uint8_t *tcp_flags)
{
	bool ipv4 = inner[0] >> 4 == 4;
	const uint8_t *l4 = inner + (ipv4 ? FL_IPV4_LEN : FL_IPV6_LEN);
	struct flow flow = {.protocol = ipv4 ? inner[9] : inner[6],
			    .source_port = fl_load_be16(l4),
			    .destination_port = fl_load_be16(l4 + 2)};

	*tcp_flags = flow.protocol == IPPROTO_TCP ? l4[TRANSPORT_AT_TCP_FLAGS] : 0;
	if (ipv4) {
		flow.source = fl_address_from_ipv4(inner + 12);
		flow.destination = fl_address_from_ipv4(inner + 16);
	} else {
		memcpy(flow.source.bytes, inner + 8, 16);
		memcpy(flow.destination.bytes, inner + 24, 16);
	}
	return flow;
}

static const struct lookup_port *port_of(const struct lookup *lookup, const struct flow *flow)
{
	const struct lookup_vip *vip;
	uint64_t high, low;

	lookup_words(&flow->destination, &high, &low);
	vip = lookup_vip(lookup, high, low);
	return vip && !vip->self ? lookup_port(lookup, vip, flow->protocol, flow->destination_port) : NULL;
}

static uint32_t amount(uint32_t load, uint32_t len, uint8_t tcp_flags)
{
	if (load == MAAT_PACKETS)
		return 1;
	return load == MAAT_BYTES ? len : !!(tcp_flags & TRANSPORT_TCP_SYN);
}

/* A connection that opens or ends at the bucket of its hash's high half. */
static void note(struct maat_filter *filter, uint64_t hash, uint8_t tcp_flags)
{
	bool has = maat_filter_has(filter, hash);

	if (tcp_flags & TRANSPORT_TCP_SYN && !has)
		maat_filter_add(filter, hash);
	else if (!(tcp_flags & TRANSPORT_TCP_SYN) && has)
		maat_filter_remove(filter, hash);
}

static bool goes_to(const struct tally_packet *packet, const struct backends *backends, uint16_t id)
{
	const struct backend *backend = backends_get(backends, id);
	struct fl_address address;

	if (!backend)
		return false;
	address = encap_destination(&backend->outer);
	return fl_address_equal(&address, &packet->destination);
}

/* Of its two buckets' owners the second's has it. Where one server has both, they are as one. */
static bool is_second_first(const struct tally_packet *packet, const struct ring *ring, uint64_t hash)
{
	const uint32_t first = (uint32_t)hash & ring->mask, second = ring_second_bucket(ring, hash);
	const struct backends *backends = ring_backends(ring);

	return second != first && !goes_to(packet, backends, fl_row_current(ring_row(ring, first))) &&
	       goes_to(packet, backends, fl_row_current(ring_row(ring, second)));
}

void tally_order(const struct lookup *lookup, unsigned worker, const struct tally_packet *packet)
{
	uint8_t tcp_flags;
	struct flow flow = read_flow(packet->inner, &tcp_flags);
	const struct lookup_port *port = port_of(lookup, &flow);
	const struct maat *maat = port ? maat_of(port->service) : NULL;
	const struct ring *ring = maat ? service_ring(port->service) : NULL;
	bool is_second;
	uint64_t hash;
	uint16_t id;

	if (!ring)
		return;
	if (lookup_is_by_id(port)) {
		id = (uint16_t)(lookup_key(flow.protocol, flow.destination_port) - port->first);
		maat_loads_count(maat->counts, worker, id, amount(maat->settings.load, packet->len, tcp_flags));
		return;
	}
	hash = service_flow_hash(port->service, &flow);
	is_second = flow.protocol == IPPROTO_TCP && is_second_first(packet, ring, hash);
	id = fl_row_current(ring_row(ring, is_second ? ring_second_bucket(ring, hash) : (uint32_t)hash & ring->mask));
	maat_loads_count(maat->counts, worker, id, amount(maat->settings.load, packet->len, tcp_flags));
	if (is_second && tcp_flags & (TRANSPORT_TCP_SYN | TRANSPORT_TCP_FIN | TRANSPORT_TCP_RST))
		note(maat->filter, hash, tcp_flags);
}
