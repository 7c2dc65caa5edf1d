/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include <errno.h>
#include <string.h>

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

struct ring_rule service_ring_rule(const struct service *service)
{
	return (struct ring_rule){.window = service->config.window, .most = encap_candidates(service->encap)};
}

uint64_t service_flow_hash(const struct service *service, const struct flow *flow)
{
	uint8_t key[FL_KEY_IPV6_LEN];
	uint32_t len = key_of(flow, service->affinity, key);

	return fl_flow_hash(service->hash, &service->key, key, len);
}

static struct explained_owner owner_of(const struct backends *backends, uint16_t id, uint32_t since)
{
	struct explained_owner owner = {.id = id, .since = since};

	if (id)
		backends_address(backends, id, &owner.address);
	return owner;
}

/* The backend that the flow's port names, if it exists. */
static void explain_id(const struct mptcp_ports *mptcp, const struct flow *flow, const struct backends *backends,
		       struct explanation *out)
{
	uint16_t id = (uint16_t)(flow->destination_port - mptcp->first);

	if (backends_is_live(backends, id))
		out->first.current = owner_of(backends, id, 0);
}

/* out->bucket's owners. */
static void explain_bucket(const struct ring *ring, struct explained_bucket *out)
{
	const struct ring_former former = ring_former(ring, out->bucket);
	const struct backends *backends = ring_backends(ring);

	out->current = owner_of(backends, ring->image.current[out->bucket], 0);
	for (uint32_t i = 0; i < former.history.count; i++)
		out->former[out->former_count++] = owner_of(backends, former.history.owner[i], former.history.since[i]);
}

static bool is_foreign(const struct backends *backends, uint16_t id)
{
	const struct backend *backend = backends_get(backends, id);

	return backend && backend->foreign;
}

/* Adds a server unless it is among them: before a foreign end-point, which is the last. */
static void add_candidate(const struct backends *backends, uint32_t most, enum explained_reason reason,
			  const struct explained_owner *owner, struct explanation *out)
{
	uint32_t count = out->candidates_count;
	const bool has_foreign = count && is_foreign(backends, out->candidates[count - 1].owner.id);

	for (uint32_t i = 0; i < count; i++)
		if (fl_address_equal(&out->candidates[i].owner.address, &owner->address))
			return;
	if (count > most || (has_foreign && is_foreign(backends, owner->id))) {
		out->is_late = true;
		return;
	}
	if (has_foreign) {
		out->candidates[count] = out->candidates[count - 1];
		count--;
	}
	out->candidates[count] = (struct explained_candidate){reason, *owner};
	out->candidates_count++;
}

static void add_former(const struct backends *backends, uint32_t most, enum explained_reason reason,
		       const struct explained_bucket *bucket, struct explanation *out)
{
	for (uint32_t i = 0; i < bucket->former_count; i++)
		add_candidate(backends, most, reason, &bucket->former[i], out);
}

/* As the packet path names them (headers/headers.c). */
static void explain_candidates(const struct service *service, const struct ring *ring, bool has_list,
			       struct explanation *out)
{
	const struct backends *backends = ring_backends(ring);
	const uint32_t most = encap_candidates(service->encap);
	const struct backend *second;

	if (!out->first.current.id)
		return;
	out->candidates[out->candidates_count++] = (struct explained_candidate){EXPLAINED_OWNER, out->first.current};
	if (!has_list || is_foreign(backends, out->first.current.id))
		return;
	second = out->second.bucket != RING_BUCKET_NONE ? backends_get(backends, out->second.current.id) : NULL;
	if (second && backend_state(second) != BACKEND_LOOP)
		add_candidate(backends, most, EXPLAINED_SECOND_OWNER, &out->second.current, out);
	add_former(backends, most, EXPLAINED_FORMER, &out->first, out);
	add_former(backends, most, EXPLAINED_SECOND_FORMER, &out->second, out);
	out->is_late |= lists_flags(ring_row(ring, out->first.bucket)) & FL_LIST_LATE;
	if (out->second.bucket != RING_BUCKET_NONE)
		out->is_late |= lists_flags(ring_row(ring, out->second.bucket)) & FL_LIST_LATE;
}

int service_explain(const struct service *service, const struct flow *flow, struct explanation *out)
{
	const struct ring *ring = service_ring(service);
	bool is_stateless = flow->protocol == IPPROTO_UDP && service->config.stateless_udp;

	memset(out, 0, sizeof(*out));
	out->first.bucket = out->second.bucket = RING_BUCKET_NONE;
	if (!ring)
		return -ENOENT;
	out->hash = service_flow_hash(service, flow);
	out->generation = ring_generation(ring);
	if (mptcp_ports_has(&service->config.mptcp, flow->protocol, flow->destination_port)) {
		explain_id(&service->config.mptcp, flow, ring_backends(ring), out);
		explain_candidates(service, ring, false, out);
		return 0;
	}
	out->may_name_a_backend = flow->protocol == IPPROTO_UDP && service->config.quic.length;
	out->first.bucket = service->config.steering->bucket(service, ring, out->hash);
	if (service->config.steering->explain)
		service->config.steering->explain(service, flow, out);
	explain_bucket(ring, &out->first);
	if (out->second.bucket != RING_BUCKET_NONE)
		explain_bucket(ring, &out->second);
	explain_candidates(service, ring, !is_stateless, out);
	return 0;
}
