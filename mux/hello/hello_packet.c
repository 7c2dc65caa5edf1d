/* SPDX-License-Identifier: Apache-2.0 */
#include "hello/hello_packet.h"

#include <string.h>

#include "config/hex.h"

static const uint8_t magic[4] = "FLH3";

enum offsets {
	AT_FLAGS = 4,
	AT_EXTENSIONS = 5,
	AT_COUNT = 6,
	AT_SENDER = 8,
	AT_CLUSTER = 24,
	AT_BOOT = 40,
	AT_COUNTER = 48,
};

_Static_assert(AT_COUNTER + 8 == HELLO_HEAD_LEN, "offsets and lengths agree");
_Static_assert(HELLO_SERVICES_MAX == 97, "as protocol/README.md says");

const char *hello_error_name(enum hello_error error)
{
	static const char *const names[HELLO_ERRORS] = {
	    [HELLO_OK] = "ok",
	    [HELLO_TRUNCATED] = "truncated",
	    [HELLO_VERSION_UNKNOWN] = "version_unknown",
	    [HELLO_FLAGS_UNKNOWN] = "flags_unknown",
	    [HELLO_LENGTH] = "length",
	    [HELLO_SERVICE] = "service",
	    [HELLO_BOOT] = "boot",
	    [HELLO_CLUSTER] = "cluster",
	    [HELLO_SENDER] = "sender",
	    [HELLO_TAG_MISSING] = "tag_missing",
	    [HELLO_TAG_WRONG] = "tag_wrong",
	    [HELLO_PEER_UNKNOWN] = "peer_unknown",
	    [HELLO_REPLAYED] = "replayed",
	};

	return names[error];
}

/* Where the i-th service begins; extensions are behind the last one. */
static size_t service_at(unsigned i)
{
	return HELLO_HEAD_LEN + (size_t)i * HELLO_SERVICE_LEN;
}

/* Where the tag is, if there is one. */
static size_t end_of(const struct hello_head *head)
{
	return service_at(head->count) + (size_t)head->extensions * HELLO_UNIT;
}

struct hello_service hello_service_at(const uint8_t *data, unsigned i)
{
	const uint8_t *p = data + service_at(i);

	return (struct hello_service){
	    .id = fl_load_be16(p), .flags = p[2], .generation = fl_load_be32(p + 4), .settled = fl_load_be32(p + 8)};
}

static bool are_services_valid(const uint8_t *data, unsigned count)
{
	uint16_t last = 0;

	for (unsigned i = 0; i < count; i++) {
		struct hello_service service = hello_service_at(data, i);

		if (service.id <= last || service.flags > HELLO_BEHIND || data[service_at(i) + 3] ||
		    !service.generation)
			return false;
		last = service.id;
	}
	return true;
}

enum hello_error hello_parse(const uint8_t *data, size_t len, struct hello_head *head)
{
	struct hello_head found = {0};

	if (len < HELLO_HEAD_LEN)
		return HELLO_TRUNCATED;
	if (memcmp(data, magic, sizeof(magic)))
		return HELLO_VERSION_UNKNOWN;
	if (data[AT_FLAGS] && (data[AT_FLAGS] & ~HELLO_KEY) != HELLO_TAG)
		return HELLO_FLAGS_UNKNOWN;
	found.has_tag = data[AT_FLAGS] & HELLO_TAG;
	found.key = data[AT_FLAGS] & HELLO_KEY;
	found.extensions = data[AT_EXTENSIONS];
	found.count = fl_load_be16(data + AT_COUNT);
	if (found.count > HELLO_SERVICES_MAX || len > HELLO_LEN_MAX ||
	    len != end_of(&found) + (found.has_tag ? HELLO_TAG_LEN : 0))
		return HELLO_LENGTH;
	if (!are_services_valid(data, found.count))
		return HELLO_SERVICE;
	memcpy(found.sender.bytes, data + AT_SENDER, sizeof(found.sender.bytes));
	memcpy(found.cluster, data + AT_CLUSTER, sizeof(found.cluster));
	found.boot = fl_load_be64(data + AT_BOOT);
	found.counter = fl_load_be64(data + AT_COUNTER);
	if (!found.boot || !found.counter)
		return HELLO_BOOT;
	*head = found;
	return HELLO_OK;
}

static uint64_t tag_of(const uint8_t *data, size_t len, const struct fl_siphash_key *cluster)
{
	struct fl_siphash_key key = fl_mux_key(cluster);

	return fl_siphash(&key, data, (uint32_t)len);
}

bool hello_tag_is_right(const uint8_t *data, const struct hello_head *head, const struct fl_siphash_key *cluster)
{
	size_t at = end_of(head);

	return fl_load_be64(data + at) == tag_of(data, at, cluster);
}

size_t hello_write(const struct hello_head *head, const struct hello_service *services,
		   const struct fl_siphash_key *cluster, uint8_t *out)
{
	size_t at = service_at(head->count);

	memset(out, 0, at);
	memcpy(out, magic, sizeof(magic));
	if (cluster)
		out[AT_FLAGS] = fl_key_bit(cluster) ? HELLO_TAG | HELLO_KEY : HELLO_TAG;
	fl_store_be16(out + AT_COUNT, head->count);
	memcpy(out + AT_SENDER, head->sender.bytes, sizeof(head->sender.bytes));
	memcpy(out + AT_CLUSTER, head->cluster, sizeof(head->cluster));
	fl_store_be64(out + AT_BOOT, head->boot);
	fl_store_be64(out + AT_COUNTER, head->counter);
	for (unsigned i = 0; i < head->count; i++) {
		uint8_t *p = out + service_at(i);

		fl_store_be16(p, services[i].id);
		p[2] = services[i].flags;
		fl_store_be32(p + 4, services[i].generation);
		fl_store_be32(p + 8, services[i].settled);
	}
	if (!cluster)
		return at;
	fl_store_be64(out + at, tag_of(out, at, cluster));
	return at + HELLO_TAG_LEN;
}

bool hello_cluster_parse(const char *name, uint8_t out[HELLO_CLUSTER_LEN])
{
	return hex_parse(name, strlen(name), HEX_LOWER, out);
}
