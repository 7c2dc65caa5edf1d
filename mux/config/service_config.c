/* SPDX-License-Identifier: Apache-2.0 */
#include "config/service_config.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

bool service_config_same_ring(const struct service_config *a, const struct service_config *b)
{
	return a->id == b->id && a->buckets == b->buckets && a->hash == b->hash && a->affinity == b->affinity &&
	       a->key.k0 == b->key.k0 && a->key.k1 == b->key.k1;
}

/* Every field of struct service_config, by the key that it is read from. */
#define FIELD(key, member, fixed)                                                                                      \
	{                                                                                                              \
		key, offsetof(struct service_config, member), sizeof(((struct service_config *)0)->member), fixed      \
	}

static const struct field {
	const char *key;
	size_t at, size;
	bool fixed; /* for the service's life */
} fields[] = {
    FIELD("id", id, true),
    FIELD("name", name, true),
    FIELD("vips", vips_count, false),
    FIELD("vips", vips, false),
    FIELD("ports", ports_count, false),
    FIELD("ports", ports, false),
    FIELD("mptcpPorts", mptcp, false),
    FIELD("steering", steering, true),
    FIELD("buckets", buckets, true),
    FIELD("hash", hash, true),
    FIELD("hashKey", key, true),
    FIELD("affinity", affinity, true),
    FIELD("encap", encap, true),
    FIELD("quicServerId", quic, false),
    FIELD("maxSegmentSize", mss, false),
    FIELD("statelessUdp", stateless_udp, false),
    FIELD("packetsPerSecond", packets_per_second, false),
    FIELD("bytesPerSecond", bytes_per_second, false),
    FIELD("windowSeconds", window, false),
    FIELD("holdSeconds", hold, false),
    FIELD("maat", maat, false),
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

int service_config_check_change(const struct service_config *before, const struct service_config *after,
				struct reason *why)
{
	const char *a = (const char *)before, *b = (const char *)after;
	char allowed[160] = "";
	size_t len = 0;

	for (int i = 0; i < FIELDS; i++)
		if (!fields[i].fixed && (!i || strcmp(fields[i].key, fields[i - 1].key)))
			len += (size_t)snprintf(allowed + len, sizeof(allowed) - len, "%s%s", len ? ", " : "",
						fields[i].key);
	for (int i = 0; i < FIELDS; i++)
		if (fields[i].fixed && memcmp(a + fields[i].at, b + fields[i].at, fields[i].size))
			return reason_set(why, -EINVAL, "service %s: %s can't change; allowed: changes of %s",
					  before->name, fields[i].key, allowed);
	return 0;
}

void service_config_take_changes(struct service_config *config, const struct service_config *from)
{
	for (int i = 0; i < FIELDS; i++)
		if (!fields[i].fixed)
			memcpy((char *)config + fields[i].at, (const char *)from + fields[i].at, fields[i].size);
}

bool service_config_is_name(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len <= SERVICE_NAME_MAX && name[0] != '-' && name[len - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}
