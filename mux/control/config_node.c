/* SPDX-License-Identifier: Apache-2.0 */
#include "control/config_node.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include <jansson.h>

#include "config/address.h"
#include "config/hex.h"
#include "encap/encap.h"
#include "steering/steering.h"

enum { FORMAT = 1, WINDOW_MAX = 86400 * 365, HOLD_MAX = 604800 };

/* name: the value's name in messages; its key in object is the part after the dot, if there is one. */
static int get_integer(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *out,
		       struct reason *why)
{
	const char *dot = strchr(name, '.');
	const json_t *value = json_object_get(object, dot ? dot + 1 : name);

	if (!json_is_integer(value))
		return reason_set(why, -EINVAL, "%s is %s; allowed: an integer %" PRId64 "..%" PRId64, name,
				  value ? "not an integer" : "missing", min, max);
	*out = json_integer_value(value);
	if (*out < min || *out > max)
		return reason_set(why, -EINVAL, "%s is %" PRId64 "; allowed: %" PRId64 "..%" PRId64, name, *out, min,
				  max);
	return 0;
}

/* name: as for get_integer. */
static int get_string(const json_t *object, const char *name, const char **out, struct reason *why)
{
	const char *dot = strchr(name, '.');
	const json_t *value = json_object_get(object, dot ? dot + 1 : name);

	if (!json_is_string(value))
		return reason_set(why, -EINVAL, "%s is %s; allowed: a string", name,
				  value ? "not a string" : "missing");
	*out = json_string_value(value);
	return 0;
}

/* The index of the key's value in words, or -EINVAL if it is none of them. */
static int get_word(const json_t *object, const char *key, const char *const *words, int count, struct reason *why)
{
	const char *value = NULL;
	int error = get_string(object, key, &value, why);
	char allowed[64] = "";

	if (error)
		return error;
	for (int i = 0; i < count; i++) {
		if (!strcmp(value, words[i]))
			return i;
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s", i ? ", " : "", words[i]);
	}
	return reason_set(why, -EINVAL, "%s is '%.40s'; allowed: %s", key, value, allowed);
}

static int get_array(const json_t *object, const char *key, size_t max, const json_t **out, struct reason *why)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_array(value))
		return reason_set(why, -EINVAL, "%s is %s; allowed: a list", key, value ? "not a list" : "missing");
	if (json_array_size(value) < 1 || json_array_size(value) > max)
		return reason_set(why, -EINVAL, "%s has %zu entries; allowed: 1..%zu", key, json_array_size(value),
				  max);
	*out = value;
	return 0;
}

static int get_vips(const json_t *object, struct service_config *out, struct reason *why)
{
	const json_t *list = NULL;
	int error = get_array(object, "vips", SERVICE_VIPS_MAX, &list, why);
	const json_t *entry;
	size_t i;

	if (error)
		return error;
	json_array_foreach((json_t *)(uintptr_t)list, i, entry)
	{
		struct fl_address *vip = &out->vips[i];

		if (!json_is_string(entry) || !address_parse(json_string_value(entry), vip) || fl_address_is_none(vip))
			return reason_set(why, -EINVAL, "vips[%zu] is '%.60s'; allowed: an IPv4 or IPv6 address", i,
					  json_is_string(entry) ? json_string_value(entry) : "not a string");
		for (size_t j = 0; j < i; j++)
			if (fl_address_equal(&out->vips[j], vip))
				return reason_set(why, -EINVAL, "vips[%zu] is '%.60s' again; allowed: each once", i,
						  json_string_value(entry));
	}
	out->vips_count = (uint32_t)json_array_size(list);
	return 0;
}

static int get_ports(const json_t *object, struct service_config *out, struct reason *why)
{
	static const char *const protocols[] = {"tcp", "udp"};
	const json_t *list = NULL;
	int error = get_array(object, "ports", SERVICE_PORTS_MAX, &list, why);
	const json_t *entry;
	size_t i;

	if (error)
		return error;
	json_array_foreach((json_t *)(uintptr_t)list, i, entry)
	{
		int protocol = get_word(entry, "protocol", protocols, 2, why);
		int64_t port = 0;

		if (protocol < 0)
			return protocol;
		error = get_integer(entry, "port", 1, 65535, &port, why);
		if (error)
			return error;
		out->ports[i].protocol = protocol == 0 ? IPPROTO_TCP : IPPROTO_UDP;
		out->ports[i].port = (uint16_t)port;
		for (size_t j = 0; j < i; j++)
			if (out->ports[j].protocol == out->ports[i].protocol && out->ports[j].port == port)
				return reason_set(why, -EINVAL,
						  "ports[%zu] is %s:%" PRId64 " again; allowed: each once", i,
						  protocols[protocol], port);
	}
	out->ports_count = (uint32_t)json_array_size(list);
	return 0;
}

/* An optional key, as are the three below. */
static int get_mptcp_ports(const json_t *object, struct service_config *out, struct reason *why)
{
	const json_t *ports = json_object_get(object, "mptcpPorts");
	int64_t first = 0, last = 0;
	int error;

	if (!ports || json_is_null(ports))
		return 0;
	if (!json_is_object(ports))
		return reason_set(why, -EINVAL, "mptcpPorts is not an object; allowed: first and last");
	error = get_integer(ports, "mptcpPorts.first", 1, 65534, &first, why);
	if (!error)
		error = get_integer(ports, "mptcpPorts.last", first + 1, 65535, &last, why);
	if (error)
		return error;
	out->mptcp = (struct mptcp_ports){(uint16_t)first, (uint16_t)last};
	for (uint32_t i = 0; i < out->ports_count; i++)
		if (mptcp_ports_has(&out->mptcp, out->ports[i].protocol, out->ports[i].port))
			return reason_set(why, -EINVAL,
					  "mptcpPorts is %" PRId64 "-%" PRId64
					  "; allowed: a range without the service's own port tcp:%u",
					  first, last, out->ports[i].port);
	return 0;
}

static int get_quic_server_id(const json_t *object, struct service_config *out, struct reason *why)
{
	const json_t *where = json_object_get(object, "quicServerId");
	int64_t offset = 0, length = 0;
	int error;

	if (!where || json_is_null(where))
		return 0;
	if (!json_is_object(where))
		return reason_set(why, -EINVAL, "quicServerId is not an object; allowed: offset and length");
	error = get_integer(where, "quicServerId.offset", 0, SERVICE_QUIC_OFFSET_MAX, &offset, why);
	if (!error)
		error = get_integer(where, "quicServerId.length", 1, 2, &length, why);
	out->quic = (struct quic_server_id){(uint8_t)offset, (uint8_t)length};
	return error;
}

static int get_mss(const json_t *object, struct service_config *out, struct reason *why)
{
	const json_t *value = json_object_get(object, "maxSegmentSize");
	int64_t mss = 0;
	int error;

	if (!value || json_is_null(value))
		return 0;
	error = get_integer(object, "maxSegmentSize", SERVICE_MSS_MIN, UINT16_MAX, &mss, why);
	out->mss = (uint16_t)mss;
	return error;
}

static int get_stateless_udp(const json_t *object, struct service_config *out, struct reason *why)
{
	const json_t *value = json_object_get(object, "statelessUdp");

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_boolean(value))
		return reason_set(why, -EINVAL, "statelessUdp is not a boolean; allowed: true, false");
	out->stateless_udp = json_is_true(value);
	return 0;
}

static int get_hold(const json_t *object, struct service_config *out, struct reason *why)
{
	const json_t *value = json_object_get(object, "holdSeconds");
	int64_t hold = 0;
	int error;

	if (!value || json_is_null(value))
		return 0;
	error = get_integer(object, "holdSeconds", 1, HOLD_MAX, &hold, why);
	out->hold = (uint32_t)hold;
	return error;
}

static const char *const maat_loads[] = {"packets", "bytes", "connections", "agents"};

enum { MAAT_LOADS = sizeof(maat_loads) / sizeof(maat_loads[0]) };

/* Present exactly with steering `maat`; otherwise ignored. */
static int get_maat(const json_t *object, struct maat_settings *out, struct reason *why)
{
	const json_t *maat = json_object_get(object, "maat");
	int64_t delta = 0, half_life = 0, bytes = 0, hashes = 0;
	int load, error;

	if (!json_is_object(maat))
		return reason_set(why, -EINVAL, "maat is %s; allowed with steering maat: an object",
				  maat ? "not an object" : "missing");
	load = get_word(maat, "maat.load", maat_loads, MAAT_LOADS, why);
	if (load < 0)
		return load;
	error = get_integer(maat, "maat.deltaThousandths", 0, 1000, &delta, why);
	if (!error)
		error = get_integer(maat, "maat.halfLifeMillis", 10, 60000, &half_life, why);
	if (!error)
		error = get_integer(maat, "maat.filterBytes", 1024, 1 << 24, &bytes, why);
	if (!error && (bytes & (bytes - 1)))
		error = reason_set(why, -EINVAL, "maat.filterBytes is %" PRId64 "; allowed: a power of two", bytes);
	if (!error)
		error = get_integer(maat, "maat.filterHashes", 1, 8, &hashes, why);
	*out = (struct maat_settings){(uint32_t)load, (uint32_t)delta, (uint32_t)half_life, (uint32_t)bytes,
				      (uint32_t)hashes};
	return error;
}

static int get_key(const json_t *object, struct fl_siphash_key *out, struct reason *why)
{
	const char *text = NULL;
	int error = get_string(object, "hashKey", &text, why);
	uint8_t bytes[HEX_BYTES];

	if (error)
		return error;
	if (!hex_parse(text, strlen(text), HEX_EITHER, bytes)) /* its value is a secret: not shown */
		return reason_set(why, -EINVAL, "hashKey has %zu characters or an invalid one; allowed: 32 hex digits",
				  strlen(text));
	*out = fl_siphash_key_load(bytes);
	return 0;
}

static int get_name(const json_t *object, const char *name, char out[SERVICE_NAME_MAX + 1], struct reason *why)
{
	const char *value = NULL;
	int error = get_string(object, "name", &value, why);

	if (error)
		return error;
	if (strcmp(value, name))
		return reason_set(why, -EINVAL, "name is '%.70s'; allowed: '%.70s', that of its node", value, name);
	if (strlen(value) < 1 || strlen(value) > SERVICE_NAME_MAX)
		return reason_set(why, -EINVAL, "name has %zu characters; allowed: 1..%d", strlen(value),
				  SERVICE_NAME_MAX);
	strcpy(out, value);
	return 0;
}

static int get_numbers(const json_t *object, struct service_config *out, struct reason *why)
{
	int64_t id = 0, buckets = 0, window = 0;
	int error = get_integer(object, "id", 1, 65535, &id, why);

	if (!error)
		error = get_integer(object, "buckets", FL_BUCKETS_MIN, FL_BUCKETS_MAX, &buckets, why);
	if (!error && (buckets & (buckets - 1)))
		error = reason_set(why, -EINVAL, "buckets is %" PRId64 "; allowed: a power of two", buckets);
	if (!error)
		error = get_integer(object, "windowSeconds", 0, WINDOW_MAX, &window, why);
	out->id = (uint16_t)id;
	out->buckets = (uint32_t)buckets;
	out->window = (uint32_t)window;
	return error;
}

static int get_words(const json_t *object, struct service_config *out, struct reason *why)
{
	static const char *const hashes[] = {"siphash", "crc32"}, *const affinities[] = {"connection", "client"};
	const char *words[STEERINGS_MAX + FL_ENCAPS_COUNT];
	int steering, hash, affinity, encap, count;

	for (count = 0; steerings[count]; count++)
		words[count] = steerings[count]->name;
	steering = get_word(object, "steering", words, count, why);
	if (steering < 0)
		return steering;
	hash = get_word(object, "hash", hashes, 2, why);
	if (hash < 0)
		return hash;
	affinity = get_word(object, "affinity", affinities, 2, why);
	if (affinity < 0)
		return affinity;
	for (count = 0; encaps[count]; count++)
		words[count] = encaps[count]->name;
	encap = get_word(object, "encap", words, count, why);
	if (encap < 0)
		return encap;
	out->steering = steerings[steering];
	out->hash = hash == 0 ? FL_HASH_SIPHASH : FL_HASH_CRC32;
	out->encap = encaps[encap];
	out->affinity = affinity == 0 ? AFFINITY_CONNECTION : AFFINITY_CLIENT;
	return 0;
}

static int get_config(const json_t *object, const char *name, struct service_config *out, struct reason *why)
{
	int64_t format = 0;
	int error;

	if (!json_is_object(object))
		return reason_set(why, -EINVAL, "config is not a JSON object");
	error = get_integer(object, "format", FORMAT, FORMAT, &format, why);
	if (!error)
		error = get_name(object, name, out->name, why);
	if (!error)
		error = get_numbers(object, out, why);
	if (!error)
		error = get_words(object, out, why);
	if (!error)
		error = get_key(object, &out->key, why);
	if (!error)
		error = get_vips(object, out, why);
	if (!error)
		error = get_ports(object, out, why);
	if (!error)
		error = get_mptcp_ports(object, out, why);
	if (!error)
		error = get_quic_server_id(object, out, why);
	if (!error)
		error = get_mss(object, out, why);
	if (!error)
		error = get_stateless_udp(object, out, why);
	if (!error)
		error = get_hold(object, out, why);
	if (!error && !strcmp(out->steering->name, "maat"))
		error = get_maat(object, &out->maat, why);
	if (!error && out->encap->check)
		error = out->encap->check(out, why);
	return error;
}

int config_node_parse(const char *json, size_t len, const char *name, struct service_config *out, struct reason *why)
{
	json_error_t at;
	json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &at);
	struct service_config config;
	int error;

	if (!root)
		return reason_set(why, -EINVAL, "config is not JSON: line %d: %.160s", at.line, at.text);
	memset(&config, 0, sizeof(config)); /* padding too: configurations are compared by their bytes */
	error = get_config(root, name, &config, why);
	json_decref(root);
	if (!error)
		memcpy(out, &config, sizeof(*out));
	return error;
}

/* The keys that are present only where they apply. */
static int add_optional(json_t *object, const struct service_config *config)
{
	const struct mptcp_ports *mptcp = &config->mptcp;
	const struct quic_server_id *quic = &config->quic;
	int failed = 0;

	if (mptcp->last)
		failed |= json_object_set_new(object, "mptcpPorts",
					      json_pack("{s:i, s:i}", "first", mptcp->first, "last", mptcp->last));
	if (quic->length)
		failed |= json_object_set_new(object, "quicServerId",
					      json_pack("{s:i, s:i}", "offset", quic->offset, "length", quic->length));
	if (config->mss)
		failed |= json_object_set_new(object, "maxSegmentSize", json_integer(config->mss));
	if (config->stateless_udp)
		failed |= json_object_set_new(object, "statelessUdp", json_true());
	if (config->hold)
		failed |= json_object_set_new(object, "holdSeconds", json_integer(config->hold));
	if (config->maat.filter_bytes)
		failed |= json_object_set_new(
		    object, "maat",
		    json_pack("{s:s, s:I, s:I, s:I, s:I}", "load", maat_loads[config->maat.load], "deltaThousandths",
			      (json_int_t)config->maat.delta, "halfLifeMillis", (json_int_t)config->maat.half_life,
			      "filterBytes", (json_int_t)config->maat.filter_bytes, "filterHashes",
			      (json_int_t)config->maat.filter_hashes));
	return failed;
}

static json_t *list_vips(const struct service_config *config)
{
	json_t *vips = json_array();
	char text[ADDRESS_TEXT_MAX];

	for (uint32_t i = 0; i < config->vips_count; i++)
		json_array_append_new(vips, json_string(address_print(&config->vips[i], text)));
	return vips;
}

static json_t *list_ports(const struct service_config *config)
{
	json_t *ports = json_array();

	for (uint32_t i = 0; i < config->ports_count; i++)
		json_array_append_new(ports, json_pack("{s:s, s:i}", "protocol",
						       config->ports[i].protocol == IPPROTO_TCP ? "tcp" : "udp", "port",
						       config->ports[i].port));
	return ports;
}

char *config_node_print(const struct service_config *config)
{
	const struct fl_siphash_key *key = &config->key;
	char key_text[33];
	json_t *object;
	char *text = NULL;

	for (int i = 0; i < 16; i++)
		snprintf(key_text + 2 * i, 3, "%02x", (unsigned)((i < 8 ? key->k0 : key->k1) >> i % 8 * 8) & 0xff);
	object = json_pack("{s:i, s:i, s:s, s:o, s:o, s:s, s:I, s:s, s:s, s:s, s:s, s:I}", "format", FORMAT, "id",
			   config->id, "name", config->name, "vips", list_vips(config), "ports", list_ports(config),
			   "steering", config->steering->name, "buckets", (json_int_t)config->buckets, "hash",
			   config->hash == FL_HASH_CRC32 ? "crc32" : "siphash", "hashKey", key_text, "affinity",
			   config->affinity == AFFINITY_CLIENT ? "client" : "connection", "encap", config->encap->name,
			   "windowSeconds", (json_int_t)config->window);
	if (object && !add_optional(object, config))
		text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}
