// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "services.h"

enum limits {
	VIPS_MAX = 64,
	PORTS_MAX = 1024,
	BACKENDS_MAX = 65535,
};

static const char document[] = "/v1/agent/services";

struct reader {
	struct services *services;
	const struct services_mangle *mangle;
	struct service *service; /* the one that is being read */
	char where[160];
};

static bool address_read(const struct reader *reader, const char *key, const char *text, struct fl_address *out)
{
	fl_u8 ipv4[4];

	if (text && inet_pton(AF_INET, text, ipv4) == 1) {
		*out = fl_address_from_ipv4(ipv4);
		return true;
	}
	if (text && inet_pton(AF_INET6, text, out->bytes) == 1)
		return true;
	return fields_refuse(reader->where, key, text ? text : "", "an IPv4 or IPv6 address");
}

static bool endpoint_add(struct reader *reader, const struct fl_address *vip, fl_u16 first, fl_u16 last,
			 bool has_bucket)
{
	struct services *services = reader->services;
	const struct services_mangle *mangle = reader->mangle;
	struct endpoint *grown;
	struct fl_address local = *vip;

	if (mangle->enabled) {
		local = fl_address_is_ipv4(vip) ? mangle->ipv4 : mangle->ipv6;
		if (fl_address_is_none(&local)) {
			reader->service->ambiguous = true;
			return true;
		}
	}
	if (services->endpoint_count == SERVICES_ENDPOINTS_MAX - 1)
		return fields_refuse(reader->where, "ports", "more", "at most 65,534 VIPs times ports of all services");
	if ((services->endpoint_count & (services->endpoint_count - 1)) == 0) {
		size_t room = services->endpoint_count ? 2 * services->endpoint_count : 1;

		grown = realloc(services->endpoints, room * sizeof(*grown));
		if (!grown)
			return fields_refuse(reader->where, "ports", "more", "what memory has room for");
		services->endpoints = grown;
	}
	services->endpoints[services->endpoint_count++] =
	    (struct endpoint){local, first, last, *vip, (fl_u16)(reader->service - services->list), has_bucket};
	return true;
}

static bool port_read(struct reader *reader, const json_t *port, const json_t *vips)
{
	static const char *const protocols[] = {"tcp", "udp", NULL};
	struct fl_address vip;
	json_int_t number;
	unsigned protocol;
	const json_t *text;
	size_t i;

	if (!fields_word(reader->where, port, "protocol", protocols, &protocol) ||
	    !fields_number(reader->where, port, "port", 1, 65535, &number))
		return false;
	if (protocol)
		return true;
	json_array_foreach(vips, i,
			   text) if (!address_read(reader, "vips", json_string_value(text), &vip) ||
				     !endpoint_add(reader, &vip, (fl_u16)number, (fl_u16)number, true)) return false;
	return true;
}

static bool ports_read(struct reader *reader, const json_t *object)
{
	const json_t *vips, *ports, *one, *mptcp = json_object_get(object, "mptcpPorts");
	struct fl_address vip;
	json_int_t first, last;
	size_t i;

	if (!fields_list(reader->where, object, "vips", JSON_STRING, VIPS_MAX, &vips) ||
	    !fields_list(reader->where, object, "ports", JSON_OBJECT, PORTS_MAX, &ports))
		return false;
	json_array_foreach(vips, i, one) if (!address_read(reader, "vips", json_string_value(one), &vip)) return false;
	json_array_foreach(ports, i, one) if (!port_read(reader, one, vips)) return false;
	if (!mptcp || json_is_null(mptcp))
		return true;
	if (!json_is_object(mptcp))
		return fields_refuse(reader->where, "mptcpPorts", "", "an object with first and last");
	if (!fields_number(reader->where, mptcp, "first", 1, 65534, &first) ||
	    !fields_number(reader->where, mptcp, "last", first + 1, 65535, &last))
		return false;
	json_array_foreach(vips, i,
			   one) if (address_read(reader, "vips", json_string_value(one), &vip) &&
				    !endpoint_add(reader, &vip, (fl_u16)first, (fl_u16)last, false)) return false;
	return true;
}

static bool key_read(const struct reader *reader, const json_t *object, struct fl_siphash_key *key)
{
	const char *text = json_string_value(json_object_get(object, "hashKey"));
	fl_u8 bytes[16];

	if (!text || strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
		return fields_refuse(reader->where, "hashKey", "", "32 hex digits in lower case");
	for (size_t i = 0; i < sizeof(bytes); i++) {
		char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};

		bytes[i] = (fl_u8)strtoul(digits, NULL, 16);
	}
	*key = fl_siphash_key_load(bytes);
	return true;
}

static bool is_own(const struct services_mangle *own, const struct fl_address *address)
{
	return fl_address_equal(address, fl_address_is_ipv4(address) ? &own->ipv4 : &own->ipv6);
}

/* Whether one of them is this server is in *served: controllers without tokens list every service. */
static bool backends_read(const struct reader *reader, const json_t *object, bool *served)
{
	const json_t *backends, *one;
	struct fl_address address;
	json_int_t id;
	size_t i;

	if (!fields_list(reader->where, object, "backends", JSON_OBJECT, BACKENDS_MAX, &backends))
		return false;
	json_array_foreach(backends, i,
			   one) if (!fields_number(reader->where, one, "id", 1, 65535, &id) ||
				    !address_read(reader, "address", json_string_value(json_object_get(one, "address")),
						  &address)) return false;
	else *served |= is_own(reader->mangle, &address);
	return true;
}

/* The age from which connections are reported one by one; 0 where they are not. */
static bool age_read(const struct reader *reader, const json_t *object, fl_u32 *age)
{
	const json_t *connections = json_object_get(object, "connections");
	json_int_t seconds;

	*age = 0;
	if (!connections || json_is_null(connections))
		return true;
	if (!json_is_object(connections))
		return fields_refuse(reader->where, "connections", "", "an object with ageSeconds, or none");
	if (!fields_number(reader->where, connections, "ageSeconds", 1, SERVICES_AGE_SECONDS_MAX, &seconds))
		return false;
	*age = (fl_u32)seconds;
	return true;
}

/* Absent is false. */
static bool flag_read(const char *where, const json_t *object, const char *key, bool *flag)
{
	const json_t *value = json_object_get(object, key);

	*flag = json_is_true(value);
	if (!value || json_is_boolean(value) || json_is_null(value))
		return true;
	return fields_refuse(where, key, "", "true or false, or none");
}

/* Whether the server may pass new connections on, and how it decides that. */
static bool hunt_read(const struct reader *reader, const json_t *object, struct service *service)
{
	static const char *const policies[] = {"always", "static", "dynamic", NULL}; /* as enum fl_load_policy */
	const json_t *hunt = json_object_get(object, "hunt");
	json_int_t threshold, window, epsilon;
	unsigned policy;

	if (!hunt || json_is_null(hunt))
		return true;
	if (!json_is_object(hunt))
		return fields_refuse(reader->where, "hunt", "", "an object with policy, or none");
	if (!fields_word(reader->where, hunt, "policy", policies, &policy) ||
	    !fields_number(reader->where, hunt, "threshold", 1, FL_LOAD_THRESHOLD_MAX, &threshold) ||
	    !fields_number(reader->where, hunt, "window", FL_LOAD_WINDOW_MIN, FL_LOAD_WINDOW_MAX, &window) ||
	    !fields_number(reader->where, hunt, "epsilonThousandths", 0, FL_LOAD_HALF - 1, &epsilon))
		return false;
	service->has_hunt = true;
	service->hunt = (struct fl_load_setting){
	    .threshold = (fl_u32)threshold, .window = (fl_u32)window, .epsilon = (fl_u32)epsilon, .policy = policy};
	return true;
}

static bool service_read(struct reader *reader, const json_t *object, bool *served)
{
	static const char *const hashes[] = {"siphash", "crc32", NULL}, *const affinities[] = {"connection", "client",
											       NULL};
	struct service *service = reader->service;
	json_int_t id, buckets;
	unsigned hash, affinity;
	const char *name;

	snprintf(reader->where, sizeof(reader->where), "services of %s", document);
	if (!fields_text(reader->where, object, "name", SERVICES_NAME_MAX, &name))
		return false;
	snprintf(reader->where, sizeof(reader->where), "service %s of %s", name, document);
	snprintf(service->name, sizeof(service->name), "%s", name);
	if (!fields_number(reader->where, object, "id", 1, 65535, &id) ||
	    !fields_number(reader->where, object, "buckets", FL_BUCKETS_MIN, FL_BUCKETS_MAX, &buckets) ||
	    !fields_word(reader->where, object, "hash", hashes, &hash) || !key_read(reader, object, &service->key) ||
	    !fields_word(reader->where, object, "affinity", affinities, &affinity) ||
	    !age_read(reader, object, &service->age_seconds) ||
	    !flag_read(reader->where, object, "twoBuckets", &service->two_buckets) ||
	    !hunt_read(reader, object, service))
		return false;
	if (buckets & (buckets - 1))
		return fields_refuse(reader->where, "buckets", "", "a power of two");
	service->id = (fl_u16)id;
	service->buckets = (fl_u32)buckets;
	service->hash = hash ? FL_HASH_CRC32 : FL_HASH_SIPHASH;
	service->by_client = affinity == 1;
	return backends_read(reader, object, served) && (!*served || ports_read(reader, object));
}

static int compare(const void *left, const void *right)
{
	const struct endpoint *a = left, *b = right;
	int order = memcmp(&a->local, &b->local, sizeof(a->local));

	return order ? order : (a->first > b->first) - (a->first < b->first);
}

/*
 * Sorts the endpoints, and looks for two with the same address and port. That is an error of the document, except with
 * --mangle, where VIPs of several services become one address: those services are ambiguous and lose their endpoints.
 */
static bool settle(struct services *services, bool mangled)
{
	struct endpoint *list = services->endpoints;
	size_t i, kept = 0;

	if (services->endpoint_count)
		qsort(list, services->endpoint_count, sizeof(*list), compare);
	for (i = 1; i < services->endpoint_count; i++) {
		struct service *one = &services->list[list[i - 1].service], *other = &services->list[list[i].service];

		if (!fl_address_equal(&list[i - 1].local, &list[i].local) || list[i].first > list[i - 1].last)
			continue;
		if (!mangled)
			return fields_refuse(document, "ports", other->name, "no VIP and port twice");
		one->ambiguous = other->ambiguous = true;
	}
	for (i = 0; i < services->endpoint_count; i++)
		if (!services->list[list[i].service].ambiguous)
			list[kept++] = list[i];
	services->endpoint_count = kept;
	for (i = 0; i < services->count; i++)
		if (services->list[i].ambiguous)
			fprintf(
			    stderr,
			    "fairlead-server: --mangle: service %s is not reported: this server has no address of a "
			    "VIP's family, or another VIP has the same port, so that connections cannot be told "
			    "apart\n",
			    services->list[i].name);
	return true;
}

static bool read_all(struct reader *reader, const json_t *root)
{
	struct services *services = reader->services;
	const json_t *list, *one;
	const char *version;
	json_int_t format;
	bool served;
	size_t i, j;

	if (!fields_number(document, root, "format", 1, 1, &format) ||
	    !fields_text(document, root, "version", SERVICES_VERSION_MAX, &version) ||
	    !flag_read(document, root, "asksForm", &services->asks_form) ||
	    !flag_read(document, root, "asksSignals", &services->asks_signals) ||
	    !fields_list(document, root, "services", JSON_OBJECT, SERVICES_MAX, &list))
		return false;
	snprintf(services->version, sizeof(services->version), "%s", version);
	services->list = calloc(json_array_size(list) + 1, sizeof(*services->list));
	if (!services->list)
		return fields_refuse(document, "services", "more", "what memory has room for");
	json_array_foreach(list, i, one)
	{
		reader->service = &services->list[services->count];
		served = false;
		if (!service_read(reader, one, &served))
			return false;
		if (!served)
			continue;
		for (j = 0; j < services->count; j++)
			if (!strcmp(services->list[j].name, reader->service->name) ||
			    services->list[j].id == reader->service->id)
				return fields_refuse(document, "services", reader->service->name,
						     "each name and id once");
		services->count++;
	}
	return settle(services, reader->mangle->enabled);
}

struct services *services_read(const char *text, size_t len, const struct services_mangle *mangle)
{
	struct reader reader = {calloc(1, sizeof(*reader.services)), mangle, NULL, ""};
	json_t *root = reader.services ? fields_parse(document, text, len) : NULL;

	if (!root || !read_all(&reader, root)) {
		services_free(reader.services);
		reader.services = NULL;
	}
	json_decref(root);
	return reader.services;
}
