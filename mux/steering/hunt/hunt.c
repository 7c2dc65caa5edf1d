/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/hunt/hunt.h"

#include <errno.h>
#include <netinet/in.h>

#include "encap/encap.h"
#include "flow/service.h"
#include "steering/ring/steering_ring.h"

enum { CRC32_BUCKETS_MAX = 65536 }; /* the halves of a CRC's hash have 16 bits in common beyond that */

int hunt_check(const struct service_config *config, struct reason *why)
{
	if (config->encap->names_one)
		return reason_set(
		    why, -EINVAL,
		    "encap: service %s has '%s'; allowed with steering %s: one that names several servers, "
		    "such as gue",
		    config->name, config->encap->name, config->steering->name);
	if (config->affinity == AFFINITY_CLIENT)
		return reason_set(why, -EINVAL,
				  "affinity: service %s has 'client'; allowed with steering %s: connection",
				  config->name, config->steering->name);
	if (config->hash == FL_HASH_CRC32 && config->buckets > CRC32_BUCKETS_MAX)
		return reason_set(
		    why, -EINVAL, "buckets: service %s has %u; allowed with steering %s and hash crc32: %d..%d",
		    config->name, config->buckets, config->steering->name, FL_BUCKETS_MIN, CRC32_BUCKETS_MAX);
	return 0;
}

void hunt_explain(const struct service *service, const struct flow *flow, struct explanation *out)
{
	uint32_t second = ring_second_bucket(service_ring(service), out->hash);

	if (flow->protocol == IPPROTO_TCP && second != out->first.bucket)
		out->second.bucket = second;
}

const struct steering steering_hunt = {
    .name = "hunt",
    .has_second = true,
    .bucket = steering_ring_bucket,
    .check = hunt_check,
    .explain = hunt_explain,
};
