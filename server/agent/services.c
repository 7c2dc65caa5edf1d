// SPDX-License-Identifier: Apache-2.0
#include "services.h"

#include <stdlib.h>
#include <string.h>

enum {
	TCP = 6,
};

void services_free(struct services *services)
{
	if (!services || __atomic_fetch_sub(&services->others, 1, __ATOMIC_ACQ_REL))
		return;
	free(services->list);
	free(services->endpoints);
	free(services);
}

struct services *services_share(struct services *services)
{
	__atomic_fetch_add(&services->others, 1, __ATOMIC_RELAXED);
	return services;
}

unsigned services_endpoint(const struct services *services, const struct fl_address *local, fl_u16 port)
{
	size_t low = 0, high = services->endpoint_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct endpoint *endpoint = &services->endpoints[middle];
		int order = memcmp(local, &endpoint->local, sizeof(*local));

		if (!order && port >= endpoint->first && port <= endpoint->last)
			return (unsigned)middle;
		if (order < 0 || (!order && port < endpoint->first))
			high = middle;
		else
			low = middle + 1;
	}
	return SERVICES_NO_ENDPOINT;
}

bool services_listens(const struct endpoint *endpoint, const struct fl_address *address, fl_u16 port, bool ipv6_only)
{
	static const struct fl_address any;
	static const fl_u8 zero[4];
	struct fl_address any_ipv4 = fl_address_from_ipv4(zero);
	bool is_ipv4 = fl_address_is_ipv4(&endpoint->local);

	if (!endpoint->has_bucket || port != endpoint->first)
		return false;
	if (fl_address_equal(address, &any))
		return !is_ipv4 || !ipv6_only;
	if (fl_address_equal(address, &any_ipv4))
		return is_ipv4;
	return fl_address_equal(address, &endpoint->local);
}

const struct service *services_find(const struct services *services, const char *name)
{
	for (size_t i = 0; i < services->count; i++)
		if (!strcmp(services->list[i].name, name))
			return &services->list[i];
	return NULL;
}

fl_u64 services_flow_hash(const struct services *services, const struct endpoint *endpoint,
			  const struct fl_address *remote, fl_u16 remote_port, fl_u16 local_port)
{
	const struct service *service = &services->list[endpoint->service];
	fl_u32 len = fl_address_is_ipv4(&endpoint->vip) ? 4 : 16, size = 2 * len;
	fl_u8 key[FL_KEY_IPV6_LEN];

	memcpy(key, remote->bytes + 16 - len, len);
	memcpy(key + len, endpoint->vip.bytes + 16 - len, len);
	if (!service->by_client) {
		fl_store_be16(key + size, remote_port);
		fl_store_be16(key + size + 2, local_port);
		key[size + 4] = TCP;
		size += 5;
	}
	return fl_flow_hash(service->hash, &service->key, key, size);
}
