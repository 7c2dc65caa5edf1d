/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/config_node.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/address.h"
#include "config/hex.h"
#include "encap/encap.h"
#include "steering/steering.h"

enum { FORMAT = 1, WINDOW_MAX = 86400 * 365, HOLD_MAX = 604800 };

/* What is read of a node. After the first error nothing more is, and what the functions below return means nothing. */
struct reader {
	const json_t *node;
	struct reason *why;
	int error;
};

/* name: the value's name in messages; its key in object is the part after the dot, if there is one. */
static const json_t *value_of(const json_t *object, const char *name)
{
	const char *dot = strchr(name, '.');

	return json_object_get(object, dot ? dot + 1 : name);
}

static int64_t get_integer(struct reader *reader, const json_t *object, const char *name, int64_t min, int64_t max)
{
	const json_t *value = value_of(object, name);
	int64_t number = json_integer_value(value);

	if (reader->error)
		return 0;
	if (!json_is_integer(value))
		reader->error = reason_set(reader->why, -EINVAL, "%s is %s; allowed: an integer %" PRId64 "..%" PRId64,
					   name, value ? "not an integer" : "missing", min, max);
	else if (number < min || number > max)
		reader->error = reason_set(reader->why, -EINVAL, "%s is %" PRId64 "; allowed: %" PRId64 "..%" PRId64,
					   name, number, min, max);
	return reader->error ? 0 : number;
}

static uint32_t get_power(struct reader *reader, const json_t *object, const char *name, int64_t min, int64_t max)
{
	int64_t number = get_integer(reader, object, name, min, max);

	if (!reader->error && (number & (number - 1)))
		reader->error =
		    reason_set(reader->why, -EINVAL, "%s is %" PRId64 "; allowed: a power of two", name, number);
	return (uint32_t)number;
}

static const char *get_string(struct reader *reader, const json_t *object, const char *name)
{
	const json_t *value = value_of(object, name);

	if (!reader->error && !json_is_string(value))
		reader->error = reason_set(reader->why, -EINVAL, "%s is %s; allowed: a string", name,
					   value ? "not a string" : "missing");
	return reader->error ? "" : json_string_value(value);
}

/* The index of the value in words. */
static int get_word(struct reader *reader, const json_t *object, const char *name, const char *const *words, int count)
{
	const char *value = get_string(reader, object, name);
	char allowed[64] = "";

	if (reader->error)
		return 0;
	for (int i = 0; i < count; i++) {
		if (!strcmp(value, words[i]))
			return i;
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s", i ? ", " : "", words[i]);
	}
	reader->error = reason_set(reader->why, -EINVAL, "%s is '%.40s'; allowed: %s", name, value, allowed);
	return 0;
}

static const json_t *get_array(struct reader *reader, const char *key, size_t max)
{
	const json_t *value = json_object_get(reader->node, key);

	if (reader->error)
		return NULL;
	if (!json_is_array(value))
		reader->error = reason_set(reader->why, -EINVAL, "%s is %s; allowed: a list", key,
					   value ? "not a list" : "missing");
	else if (json_array_size(value) < 1 || json_array_size(value) > max)
		reader->error = reason_set(reader->why, -EINVAL, "%s has %zu entries; allowed: 1..%zu", key,
					   json_array_size(value), max);
	return reader->error ? NULL : value;
}

/* The value of a key that may be missing, or null: NULL. */
static const json_t *get_optional(const struct reader *reader, const char *key)
{
	const json_t *value = json_object_get(reader->node, key);

	return reader->error || json_is_null(value) ? NULL : value;
}

static void get_vips(struct reader *reader, struct service_config *out)
{
	const json_t *list = get_array(reader, "vips", SERVICE_VIPS_MAX), *entry;
	size_t i;

	out->vips_count = (uint32_t)json_array_size(list);
	json_array_foreach((json_t *)(uintptr_t)list, i, entry)
	{
		const char *text = json_string_value(entry);
		struct fl_address *vip = &out->vips[i];

		if (!text || !address_parse(text, vip) || fl_address_is_none(vip))
			reader->error =
			    reason_set(reader->why, -EINVAL, "vips[%zu] is '%.60s'; allowed: an IPv4 or IPv6 address",
				       i, text ? text : "not a string");
		for (size_t j = 0; j < i && !reader->error; j++)
			if (fl_address_equal(&out->vips[j], vip))
				reader->error = reason_set(reader->why, -EINVAL,
							   "vips[%zu] is '%.60s' again; allowed: each once", i, text);
		if (reader->error)
			return;
	}
}

static void get_ports(struct reader *reader, struct service_config *out)
{
	static const char *const protocols[] = {"tcp", "udp"};
	const json_t *list = get_array(reader, "ports", SERVICE_PORTS_MAX), *entry;
	size_t i;

	out->ports_count = (uint32_t)json_array_size(list);
	json_array_foreach((json_t *)(uintptr_t)list, i, entry)
	{
		int protocol = get_word(reader, entry, "protocol", protocols, 2);
		uint16_t port = (uint16_t)get_integer(reader, entry, "port", 1, 65535);

		out->ports[i].protocol = protocol == 0 ? IPPROTO_TCP : IPPROTO_UDP;
		out->ports[i].port = port;
		for (size_t j = 0; j < i && !reader->error; j++)
			if (out->ports[j].protocol == out->ports[i].protocol && out->ports[j].port == port)
				reader->error =
				    reason_set(reader->why, -EINVAL, "ports[%zu] is %s:%u again; allowed: each once", i,
					       protocols[protocol], port);
		if (reader->error)
			return;
	}
}

static void get_mptcp_ports(struct reader *reader, struct service_config *out)
{
	const json_t *ports = get_optional(reader, "mptcpPorts");
	int64_t first, last;

	if (!ports)
		return;
	if (!json_is_object(ports)) {
		reader->error =
		    reason_set(reader->why, -EINVAL, "mptcpPorts is not an object; allowed: first and last");
		return;
	}
	first = get_integer(reader, ports, "mptcpPorts.first", 1, 65534);
	last = get_integer(reader, ports, "mptcpPorts.last", first + 1, 65535);
	out->mptcp = (struct mptcp_ports){(uint16_t)first, (uint16_t)last};
	for (uint32_t i = 0; i < out->ports_count && !reader->error; i++)
		if (mptcp_ports_has(&out->mptcp, out->ports[i].protocol, out->ports[i].port))
			reader->error = reason_set(reader->why, -EINVAL,
						   "mptcpPorts is %" PRId64 "-%" PRId64
						   "; allowed: a range without the service's own port tcp:%u",
						   first, last, out->ports[i].port);
}

static void get_quic_server_id(struct reader *reader, struct service_config *out)
{
	const json_t *where = get_optional(reader, "quicServerId");

	if (!where)
		return;
	if (!json_is_object(where)) {
		reader->error =
		    reason_set(reader->why, -EINVAL, "quicServerId is not an object; allowed: offset and length");
		return;
	}
	out->quic.offset = (uint8_t)get_integer(reader, where, "quicServerId.offset", 0, SERVICE_QUIC_OFFSET_MAX);
	out->quic.length = (uint8_t)get_integer(reader, where, "quicServerId.length", 1, 2);
}

static void get_stateless_udp(struct reader *reader, struct service_config *out)
{
	const json_t *value = get_optional(reader, "statelessUdp");

	if (value && !json_is_boolean(value))
		reader->error = reason_set(reader->why, -EINVAL, "statelessUdp is not a boolean; allowed: true, false");
	out->stateless_udp = json_is_true(value);
}

static const char *const maat_loads[] = {"packets", "bytes", "connections", "agents"};

enum { MAAT_LOADS = sizeof(maat_loads) / sizeof(maat_loads[0]) };

/* Present exactly with steering `maat`; otherwise ignored. */
static void get_maat(struct reader *reader, struct maat_settings *out)
{
	const json_t *maat = json_object_get(reader->node, "maat");

	if (!json_is_object(maat)) {
		reader->error = reason_set(reader->why, -EINVAL, "maat is %s; allowed with steering maat: an object",
					   maat ? "not an object" : "missing");
		return;
	}
	out->load = (uint32_t)get_word(reader, maat, "maat.load", maat_loads, MAAT_LOADS);
	out->delta = (uint32_t)get_integer(reader, maat, "maat.deltaThousandths", 0, 1000);
	out->half_life = (uint32_t)get_integer(reader, maat, "maat.halfLifeMillis", 10, 60000);
	out->filter_bytes = get_power(reader, maat, "maat.filterBytes", 1024, 1 << 24);
	out->filter_hashes = (uint32_t)get_integer(reader, maat, "maat.filterHashes", 1, 8);
}

static void get_key(struct reader *reader, struct fl_siphash_key *out)
{
	const char *text = get_string(reader, reader->node, "hashKey");
	uint8_t bytes[HEX_BYTES];

	if (reader->error)
		return;
	if (hex_parse(text, strlen(text), HEX_EITHER, bytes))
		*out = fl_siphash_key_load(bytes);
	else /* its value is a secret: not shown */
		reader->error =
		    reason_set(reader->why, -EINVAL,
			       "hashKey has %zu characters or an invalid one; allowed: 32 hex digits", strlen(text));
}

static void get_name(struct reader *reader, const char *name, char out[SERVICE_NAME_MAX + 1])
{
	const char *value = get_string(reader, reader->node, "name");

	if (reader->error)
		return;
	if (strcmp(value, name))
		reader->error = reason_set(reader->why, -EINVAL, "name is '%.70s'; allowed: '%.70s', that of its node",
					   value, name);
	else if (strlen(value) < 1 || strlen(value) > SERVICE_NAME_MAX)
		reader->error = reason_set(reader->why, -EINVAL, "name has %zu characters; allowed: 1..%d",
					   strlen(value), SERVICE_NAME_MAX);
	else
		strcpy(out, value);
}

static void get_words(struct reader *reader, struct service_config *out)
{
	static const char *const hashes[] = {"siphash", "crc32"}, *const affinities[] = {"connection", "client"};
	const char *words[STEERINGS_MAX + FL_ENCAPS_COUNT];
	int count;

	for (count = 0; steerings[count]; count++)
		words[count] = steerings[count]->name;
	out->steering = steerings[get_word(reader, reader->node, "steering", words, count)];
	out->hash = get_word(reader, reader->node, "hash", hashes, 2) ? FL_HASH_CRC32 : FL_HASH_SIPHASH;
	out->affinity =
	    get_word(reader, reader->node, "affinity", affinities, 2) ? AFFINITY_CLIENT : AFFINITY_CONNECTION;
	for (count = 0; encaps[count]; count++)
		words[count] = encaps[count]->name;
	out->encap = encaps[get_word(reader, reader->node, "encap", words, count)];
}

static int get_config(const json_t *object, const char *name, struct service_config *out, struct reason *why)
{
	struct reader reader = {.node = object, .why = why};

	if (!json_is_object(object))
		return reason_set(why, -EINVAL, "config is not a JSON object");
	get_integer(&reader, object, "format", FORMAT, FORMAT);
	get_name(&reader, name, out->name);
	out->id = (uint16_t)get_integer(&reader, object, "id", 1, 65535);
	out->buckets = get_power(&reader, object, "buckets", FL_BUCKETS_MIN, FL_BUCKETS_MAX);
	out->window = (uint32_t)get_integer(&reader, object, "windowSeconds", 0, WINDOW_MAX);
	get_words(&reader, out);
	get_key(&reader, &out->key);
	get_vips(&reader, out);
	get_ports(&reader, out);
	get_mptcp_ports(&reader, out);
	get_quic_server_id(&reader, out);
	if (get_optional(&reader, "maxSegmentSize"))
		out->mss = (uint16_t)get_integer(&reader, object, "maxSegmentSize", SERVICE_MSS_MIN, UINT16_MAX);
	get_stateless_udp(&reader, out);
	if (get_optional(&reader, "packetsPerSecond"))
		out->packets_per_second =
		    (uint32_t)get_integer(&reader, object, "packetsPerSecond", 1, SERVICE_PACKETS_MAX);
	if (get_optional(&reader, "bytesPerSecond"))
		out->bytes_per_second = (uint64_t)get_integer(&reader, object, "bytesPerSecond", 1, SERVICE_BYTES_MAX);
	if (get_optional(&reader, "holdSeconds"))
		out->hold = (uint32_t)get_integer(&reader, object, "holdSeconds", 1, HOLD_MAX);
	if (!reader.error && !strcmp(out->steering->name, "maat"))
		get_maat(&reader, &out->maat);
	if (!reader.error && out->encap->check)
		return out->encap->check(out, why);
	return reader.error;
}

/* node: its name in messages. NULL and why: it is not JSON. */
static json_t *load(const char *node, const char *json, size_t len, struct reason *why)
{
	json_error_t at;
	json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &at);

	if (!root)
		reason_set(why, -EINVAL, "%s is not JSON: line %d: %.160s", node, at.line, at.text);
	return root;
}

int config_node_parse(const char *json, size_t len, const char *name, struct service_config *out, struct reason *why)
{
	json_t *root = load("config", json, len, why);
	struct service_config config;
	int error;

	if (!root)
		return -EINVAL;
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
	if (config->packets_per_second)
		failed |= json_object_set_new(object, "packetsPerSecond", json_integer(config->packets_per_second));
	if (config->bytes_per_second)
		failed |=
		    json_object_set_new(object, "bytesPerSecond", json_integer((json_int_t)config->bytes_per_second));
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

static const double LOAD_MAX = 1e12; /* of which floats still have sums */

/* 0: not the id of a backend. */
static uint16_t id_of(const char *text)
{
	size_t len = strlen(text);
	unsigned long id = len <= 5 && strspn(text, "0123456789") == len ? strtoul(text, NULL, 10) : 0;

	return id <= FL_BACKEND_MAX && *text != '0' ? (uint16_t)id : 0;
}

static int refuse_load(uint16_t id, const json_t *value, struct reason *why)
{
	if (!json_is_number(value))
		return reason_set(why, -EINVAL, "loads.%u is not a number; allowed: a number 0..1e12", id);
	return reason_set(why, -EINVAL, "loads.%u is %g; allowed: a number 0..1e12", id, json_number_value(value));
}

static int read_loads(const json_t *loads, float out[MAAT_IDS], struct reason *why)
{
	const char *name;
	json_t *value;

	if (!json_is_object(loads))
		return reason_set(why, -EINVAL, "loads is %s; allowed: an object", loads ? "not an object" : "missing");
	for (uint32_t id = 0; id < MAAT_IDS; id++)
		out[id] = -1;
	json_object_foreach((json_t *)(uintptr_t)loads, name, value)
	{
		double load = json_number_value(value);
		uint16_t id = id_of(name);

		if (!id)
			return reason_set(why, -EINVAL, "loads names backend '%.20s'; allowed: 1..%d", name,
					  FL_BACKEND_MAX);
		if (!json_is_number(value) || !(load >= 0 && load <= LOAD_MAX))
			return refuse_load(id, value, why);
		out[id] = (float)load;
	}
	return 0;
}

int loads_node_parse(const char *json, size_t len, float out[MAAT_IDS], struct reason *why)
{
	json_t *root = load("loads", json, len, why);
	const json_t *format = json_object_get(root, "format");
	int error = -EINVAL;

	if (!root)
		return error;
	if (!json_is_integer(format))
		reason_set(why, error, "format is %s; allowed: %d", format ? "no integer" : "missing", FORMAT);
	else if (json_integer_value(format) != FORMAT)
		reason_set(why, error, "format is %lld; allowed: %d", (long long)json_integer_value(format), FORMAT);
	else
		error = read_loads(json_object_get(root, "loads"), out, why);
	json_decref(root);
	return error;
}
