/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include <errno.h>
#include <string.h>

#include <fairlead/steer.h>

#include "ring/backend.h"
#include "steering/steering.h"

/* The key of fairlead/hash.h from an unpacked flow; returns its length. */
static uint32_t key_of(const struct flow *flow, enum affinity affinity, uint8_t key[FL_KEY_IPV6_LEN])
{
	bool ipv4 = fl_address_is_ipv4(&flow->source) && fl_address_is_ipv4(&flow->destination);
	uint32_t skip = ipv4 ? 12 : 0, size = 16 - skip;

	memcpy(key, flow->source.bytes + skip, size);
	memcpy(key + size, flow->destination.bytes + skip, size);
	if (affinity == AFFINITY_CLIENT)
		return 2 * size;
	fl_store_be16(key + 2 * size, flow->source_port);
	fl_store_be16(key + 2 * size + 2, flow->destination_port);
	key[2 * size + 4] = flow->protocol;
	return 2 * size + 5;
}

uint32_t service_window(const struct service *service)
{
	return service->config.hold || service->config.steering->arrays ? FL_ROW_HELD : service->config.window;
}

uint64_t service_flow_hash(const struct service *service, const struct flow *flow)
{
	uint8_t key[FL_KEY_IPV6_LEN];
	uint32_t len = key_of(flow, service->affinity, key);

	return fl_flow_hash(service->hash, &service->key, key, len);
}

/* The backend that the flow's port names, if it exists; the rest of out says that no bucket is used. */
static void explain_id(const struct mptcp_ports *mptcp, const struct flow *flow, const struct backends *backends,
		       struct explanation *out)
{
	uint16_t id = (uint16_t)(flow->destination_port - mptcp->first);

	if (backends_is_live(backends, id)) {
		out->first.current = id;
		backends_address(backends, id, &out->first.current_address);
	}
}

/* out->bucket's row. */
static void explain_bucket(const struct service *service, const struct ring *ring, uint32_t now,
			   struct explained_bucket *out)
{
	const fl_row row = image_row(&ring->image, out->bucket);
	const struct backends *backends = ring_backends(ring);

	out->current = fl_row_current(row);
	out->previous = fl_row_previous(row);
	out->since = fl_row_since(row);
	out->moved = fl_row_is_moved(row, now, service_window(service));
	if (out->current)
		backends_address(backends, out->current, &out->current_address);
	if (out->previous)
		backends_address(backends, out->previous, &out->previous_address);
}

int service_explain(const struct service *service, const struct flow *flow, uint32_t now, struct explanation *out)
{
	const struct ring *ring = service_ring(service);

	memset(out, 0, sizeof(*out));
	out->first.bucket = out->second.bucket = FL_STEER_BUCKET_NONE;
	if (!ring)
		return -ENOENT;
	out->hash = service_flow_hash(service, flow);
	out->generation = ring_generation(ring);
	if (mptcp_ports_has(&service->config.mptcp, flow->protocol, flow->destination_port)) {
		explain_id(&service->config.mptcp, flow, ring_backends(ring), out);
		return 0;
	}
	out->may_name_a_backend = flow->protocol == IPPROTO_UDP && service->config.quic.length;
	out->first.bucket = service->config.steering->bucket(service, ring, out->hash);
	if (service->config.steering->explain)
		service->config.steering->explain(service, flow, out);
	explain_bucket(service, ring, now, &out->first);
	out->first.moved &= !(flow->protocol == IPPROTO_UDP && service->config.stateless_udp);
	if (out->second.bucket != FL_STEER_BUCKET_NONE)
		explain_bucket(service, ring, now, &out->second);
	return 0;
}
