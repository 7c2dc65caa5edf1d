/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service's configuration as it stands in ZooKeeper (protocol/README.md section 4), decoded and checked: every
 * value is in range, names and keys are well formed. Plain data, copied by value.
 */
#ifndef FAIRLEAD_MUX_SERVICE_CONFIG_H
#define FAIRLEAD_MUX_SERVICE_CONFIG_H

#include <fairlead/hash.h>

enum service_config_limits {
	SERVICE_NAME_MAX = 63,
	SERVICE_VIPS_MAX = 32,
	SERVICE_PORTS_MAX = 64,
};

enum affinity {
	AFFINITY_CONNECTION = 1,
	AFFINITY_CLIENT,
};

struct service_port {
	uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	uint16_t port;    /* host order, not 0 */
};

struct service_config {
	uint16_t id; /* the short id of the steer header, not 0 */
	char name[SERVICE_NAME_MAX + 1];
	uint32_t vips_count;
	struct fl_address vips[SERVICE_VIPS_MAX];
	uint32_t ports_count;
	struct service_port ports[SERVICE_PORTS_MAX];
	uint32_t buckets;
	enum fl_hash_kind hash;
	struct fl_siphash_key key;
	enum affinity affinity;
	uint32_t window; /* seconds */
};

#endif
