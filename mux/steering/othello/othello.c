/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/othello/othello.h"

#include <errno.h>
#include <netinet/in.h>

#include <fairlead/othello.h>

#include "encap/encap.h"
#include "steering/othello/arrays.h"
#include "steering/othello/control_side.h"
#include "steering/othello/pair.h"
#include "steering/ring/steering_ring.h"

static uint32_t code(const struct othello_arrays *arrays, uint64_t hash)
{
	return othello_arrays_code(arrays, othello_arrays_places(arrays, hash));
}

static uint32_t bucket(const struct service *service, const struct ring *ring, uint64_t hash)
{
	const struct othello_pair *pair = othello_pair_of(service);

	return pair ? code(pair->newest, hash) : steering_ring_bucket(service, ring, hash);
}

static void explain(const struct service *service, const struct flow *flow, struct explanation *out)
{
	const struct othello_pair *pair = othello_pair_of(service);
	uint32_t second = out->first.bucket;

	(void)flow;
	if (!pair)
		return;
	out->arrays = pair->newest->generation;
	out->has_arrays_before = pair->previous || pair->low_bits;
	out->arrays_before = pair->previous ? pair->previous->generation : 0;
	if (pair->previous)
		second = code(pair->previous, out->hash);
	else if (pair->low_bits)
		second = steering_ring_bucket(service, service_ring(service), out->hash);
	if (second != out->first.bucket)
		out->second.bucket = second;
}

static int check(const struct service_config *config, struct reason *why)
{
	const char *name = config->name;

	if (config->buckets > FL_OTHELLO_BUCKETS_MAX)
		return reason_set(why, -EINVAL, "buckets: service %s has %u; allowed with steering othello: %d..%d",
				  name, config->buckets, FL_BUCKETS_MIN, FL_OTHELLO_BUCKETS_MAX);
	for (uint32_t i = 0; i < config->ports_count; i++)
		if (config->ports[i].protocol != IPPROTO_TCP)
			return reason_set(why, -EINVAL,
					  "ports[%u]: service %s has udp:%u; allowed with steering othello: tcp", i,
					  name, config->ports[i].port);
	if (config->encap != &encap_gue)
		return reason_set(why, -EINVAL, "encap: service %s has '%s'; allowed with steering othello: gue", name,
				  config->encap->name);
	if (config->hold)
		return reason_set(why, -EINVAL, "holdSeconds: service %s has %u; allowed with steering othello: none",
				  name, config->hold);
	if (config->quic.length)
		return reason_set(
		    why, -EINVAL,
		    "quicServerId: service %s has offset %u, length %u; allowed with steering othello: none", name,
		    config->quic.offset, config->quic.length);
	if (config->stateless_udp)
		return reason_set(why, -EINVAL,
				  "statelessUdp: service %s has true; allowed with steering othello: false", name);
	return 0;
}

const struct steering steering_othello = {
    .name = "othello",
    .bucket = bucket,
    .has_second = true,
    .check = check,
    .explain = explain,
    .arrays = &othello_control_side,
    .drop = othello_pair_free,
};
