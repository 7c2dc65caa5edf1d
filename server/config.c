// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "refusal.h"
#include "text.h"

enum {
	ADDRESS_BITS = 128,
};

const struct config config_default = {
    .program = {.layout = FL_SERVER_LAYOUT,
		.port = FL_LIST_GUE_PORT,
		.chaining = 1,
		.quiet = FL_SERVER_QUIET_DEFAULT,
		.flood_rate = FL_SERVER_FLOOD_RATE_DEFAULT},
};

const char config_selves_allowed[] =
    "an address of this host, such as 10.1.0.21, or one of each family, such as 10.1.0.21,2001:db8:1::21";

int config_selves_set(const char *field, const char *text, struct fl_address *ipv4, struct fl_address *ipv6)
{
	struct fl_address selves[2] = {0}, address, *self;
	char *copy = strdup(text), *rest = copy, *one;
	bool is_right = copy != NULL;

	while (is_right && (one = strsep(&rest, ","))) {
		is_right = text_address_parse(one, &address) && !fl_address_is_none(&address);
		self = &selves[is_right && !fl_address_is_ipv4(&address)];
		is_right = is_right && fl_address_is_none(self);
		if (is_right)
			*self = address;
	}
	free(copy);
	if (!is_right)
		return refusal_print(field, text, config_selves_allowed);
	*ipv4 = selves[0];
	*ipv6 = selves[1];
	return 0;
}

static int set_address(struct config *config, const char *field, const char *text)
{
	return config_selves_set(field, text, &config->program.self, &config->program.self6);
}

static int set_tag_key(struct config *config, const char *field, const char *path)
{
	struct keys_file *file = calloc(1, sizeof(*file));
	int err = file ? keys_file_read(file, field, path) : -ENOMEM;

	if (err) {
		free(file);
		return err;
	}
	config_close(config);
	config->key_file = file;
	return 0;
}

static bool host_bits_are_zero(const struct fl_peer_key *prefix)
{
	fl_u32 bit;

	for (bit = prefix->prefix_len; bit < ADDRESS_BITS; bit++)
		if (prefix->address.bytes[bit / 8] & (0x80 >> bit % 8))
			return false;
	return true;
}

static int prefix_parse(const char *field, const char *text, struct fl_peer_key *prefix)
{
	static const char allowed[] = "an address, or a prefix without host bits, such as 10.1.0.0/24";
	char address[TEXT_LEN];
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long bits;
	bool ipv4;

	if (!len || len >= sizeof(address))
		return refusal_print(field, text, allowed);
	memcpy(address, text, len);
	address[len] = '\0';
	if (!text_address_parse(address, &prefix->address))
		return refusal_print(field, text, allowed);
	ipv4 = !strchr(address, ':');
	bits = ipv4 ? 32 : ADDRESS_BITS;
	if (slash && !text_number_parse(slash + 1, 0, bits, &bits))
		return refusal_print(field, text, allowed);
	prefix->prefix_len = (fl_u32)bits + (ipv4 ? TEXT_IPV4_PREFIX : 0);
	return host_bits_are_zero(prefix) ? 0 : refusal_print(field, text, allowed);
}

static bool prefixes_are_equal(const struct fl_peer_key *a, const struct fl_peer_key *b)
{
	return a->prefix_len == b->prefix_len && fl_address_equal(&a->address, &b->address);
}

/* What a field gives its prefixes. */
static fl_u32 roles_of(fl_u8 given)
{
	return given & CONFIG_PEERS ? FL_PEER_ANY : given & FL_PEER_ANY;
}

static int peer_add(struct config *config, const char *field, const char *text, fl_u8 given)
{
	struct fl_peer_key prefix;
	int err = prefix_parse(field, text, &prefix);
	unsigned int i;

	if (err)
		return err;
	for (i = 0; i < config->peer_count && !prefixes_are_equal(&config->peers[i].prefix, &prefix); i++)
		;
	if (i == FL_SERVER_PEERS_MAX)
		return refusal_print(field, text, "at most 1024 prefixes");
	if (i == config->peer_count) {
		config->peers[config->peer_count++] = (struct fl_peer){.prefix = prefix};
		config->given[i] = 0;
	}
	config->given[i] |= given;
	config->peers[i].roles = roles_of(config->given[i]);
	return 0;
}

/* Those of one field, before it is set once more: a flag after a file. */
static void peers_forget(struct config *config, fl_u8 given)
{
	unsigned int i, kept = 0;

	for (i = 0; i < config->peer_count; i++) {
		fl_u8 left = config->given[i] & (fl_u8)~given;

		if (!left)
			continue;
		config->peers[kept] = config->peers[i];
		config->peers[kept].roles = roles_of(left);
		config->given[kept++] = left;
	}
	config->peer_count = kept;
}

static int peers_set(struct config *config, const char *field, const char *list, fl_u8 given)
{
	char *copy = strdup(list);
	char *rest = copy, *one;
	int err = copy ? 0 : -ENOMEM;

	peers_forget(config, given);
	while (!err && (one = strsep(&rest, ",")))
		err = peer_add(config, field, one, given);
	free(copy);
	return err;
}

/* The value as a flag's setter reads it; NULL, and a printed sentence, if it has the wrong type. */
static char *value_text(const char *field, json_t *value, json_type type, const char *allowed)
{
	char *text;

	if (json_typeof(value) == type)
		return json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);
	text = json_dumps(value, JSON_ENCODE_ANY);
	refusal_print(field, text ? text : "?", allowed);
	free(text);
	return NULL;
}

static int peers_read(struct config *config, const char *field, json_t *list, fl_u8 given)
{
	static const char allowed[] = "a list of prefixes, such as [\"10.1.0.0/24\"]";
	json_t *one;
	size_t i;
	int err = 0;

	if (!json_is_array(list)) {
		free(value_text(field, list, JSON_ARRAY, allowed));
		return -EINVAL;
	}
	peers_forget(config, given);
	json_array_foreach(list, i, one)
	{
		char *text = value_text(field, one, JSON_STRING, allowed);

		err = text ? peer_add(config, field, text, given) : -EINVAL;
		free(text);
		if (err)
			break;
	}
	return err;
}

static int flag_read(fl_u8 *flag, const char *field, json_t *value)
{
	if (!json_is_boolean(value)) {
		free(value_text(field, value, JSON_TRUE, "true or false"));
		return -EINVAL;
	}
	*flag = json_is_true(value);
	return 0;
}

#define AT(member) .at = offsetof(struct config, member), .size = sizeof(((struct config *)0)->member)

/* The fields. type: of a file's value. A number and true are set at their place, of prefixes is said what they are given as. */
static const struct setting {
	const char *flag, *key; /* flag NULL: it is set by the caller, as it has no text */
	json_type type;
	const char *allowed;
	size_t at, size;
	unsigned long min, max;
	fl_u8 given;
	int (*set)(struct config *config, const char *field, const char *text);
} settings[] = {
    {"address", "address", JSON_STRING, config_selves_allowed, .set = set_address},
    {"port", "port", JSON_INTEGER, "a UDP port from 1 to 65535", AT(program.port), 1, 65535},
    {"peers", "peers", JSON_ARRAY, .given = CONFIG_PEERS},
    {"muxes", "muxes", JSON_ARRAY, .given = FL_PEER_MUX},
    {"servers", "servers", JSON_ARRAY, .given = FL_PEER_SERVER},
    {"tag-key", "tagKeyFile", JSON_STRING, "the name of a file", .set = set_tag_key},
    {"untagged", "untagged", JSON_TRUE, "on", AT(untagged)},
    {NULL, "chaining", JSON_TRUE, NULL, AT(program.chaining)},
    {"ipip-service", "ipipService", JSON_INTEGER, "a service's id from 1 to 65535", AT(program.ipip_service), 1,
     FL_SERVER_SERVICES - 1},
    {NULL, "mangle", JSON_TRUE, NULL, AT(program.mangle)},
    {"quiet", "quietSeconds", JSON_INTEGER, "whole seconds from 0 to 3610", AT(program.quiet), 0, FL_SERVER_QUIET_MAX},
    {"flood-rate", "floodRate", JSON_INTEGER, "packets a second and processor, from 0 to 1000000000",
     AT(program.flood_rate), 0, FL_SERVER_FLOOD_RATE_MAX},
};

enum {
	SETTINGS = sizeof(settings) / sizeof(settings[0]),
};

static int number_set(struct config *config, const struct setting *setting, const char *field, const char *text)
{
	void *at = (char *)config + setting->at;
	unsigned long number;

	if (!text_number_parse(text, setting->min, setting->max, &number))
		return refusal_print(field, text, setting->allowed);
	if (setting->size == sizeof(fl_u16))
		*(fl_u16 *)at = (fl_u16)number;
	else
		*(fl_u32 *)at = (fl_u32)number;
	return 0;
}

static int setting_set(struct config *config, const struct setting *setting, const char *field, const char *text)
{
	switch (setting->type) {
	case JSON_INTEGER:
		return number_set(config, setting, field, text);
	case JSON_ARRAY:
		return peers_set(config, field, text, setting->given);
	case JSON_TRUE:
		if (strcmp(text, setting->allowed))
			return refusal_print(field, text, setting->allowed);
		*((fl_u8 *)config + setting->at) = true;
		return 0;
	default:
		return setting->set(config, field, text);
	}
}

int config_set(struct config *config, const char *flag, const char *text)
{
	char field[40];
	int i;

	snprintf(field, sizeof(field), "--%s", flag);
	for (i = 0; i < SETTINGS; i++)
		if (settings[i].flag && !strcmp(flag, settings[i].flag))
			return setting_set(config, &settings[i], field, text);
	return refusal_print(field, text, "a flag of the configuration");
}

static int setting_read(struct config *config, const struct setting *setting, const char *field, json_t *value)
{
	char *text;
	int err;

	if (setting->type == JSON_ARRAY)
		return peers_read(config, field, value, setting->given);
	if (setting->type == JSON_TRUE)
		return flag_read((fl_u8 *)config + setting->at, field, value);
	text = value_text(field, value, setting->type, setting->allowed);
	err = text ? setting_set(config, setting, field, text) : -EINVAL;
	free(text);
	return err;
}

static int set_key(struct config *config, const char *path, const char *key, json_t *value)
{
	char field[512], allowed[256] = "the keys ";
	int i;

	snprintf(field, sizeof(field), "%s in %s", key, path);
	for (i = 0; i < SETTINGS; i++) {
		if (!strcmp(key, settings[i].key))
			return setting_read(config, &settings[i], field, value);
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s", i ? ", " : "",
			 settings[i].key);
	}
	return refusal_print(path, key, allowed);
}

int config_read_file(struct config *config, const char *path)
{
	json_error_t where;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	const char *key;
	json_t *value;
	int err = 0;

	if (!root) {
		fprintf(stderr, "fairlead-server: --config %s: line %d: %s; allowed: a JSON object\n", path, where.line,
			where.text);
		return -EINVAL;
	}
	if (!json_is_object(root))
		err = refusal_print("--config", path, "a file with a JSON object");
	else
		json_object_foreach(root, key, value)
		{
			err = set_key(config, path, key, value);
			if (err)
				break;
		}
	json_decref(root);
	return err;
}

static int trust_check(struct config *config)
{
	const struct fl_address self[2] = {config->program.self, config->program.self6};
	int err;

	if (!config->key_file && !config->untagged)
		return refusal_print("--tag-key", "",
				     "a file with keys, by which packets are tagged; or --untagged on, and whoever can "
				     "send from a peer's address decides where connections go");
	if (config->key_file && config->untagged)
		return refusal_print("--untagged", "on", "only without --tag-key");
	if (!config->key_file)
		return 0;
	err = keys_make(config->key_file, "--tag-key", self, &config->keys);
	if (!err)
		config->program.tagged = 1;
	return err;
}

int config_check(struct config *config)
{
	if (fl_address_is_none(&config->program.self) && fl_address_is_none(&config->program.self6))
		return refusal_print("--address", "", config_selves_allowed);
	if (!config->peer_count)
		return refusal_print(
		    "--peers", "",
		    "prefixes of the muxes and servers that may send, such as 10.1.0.0/24; or those of "
		    "--muxes and --servers");
	if (config->program.ipip_service && fl_address_is_none(&config->program.self))
		return refusal_print("--ipip-service", "given", "only with an IPv4 address: IPIP is IPv4 in IPv4");
	if (config->program.ipip_service && config->key_file)
		return refusal_print(
		    "--ipip-service", "given",
		    "only without --tag-key: IPIP has no room for a tag, so that all its packets would be dropped");
	return trust_check(config);
}

void config_close(struct config *config)
{
	if (config->key_file)
		keys_file_close(config->key_file);
	free(config->key_file);
	config->key_file = NULL;
	if (config->keys.services)
		explicit_bzero(config->keys.services, config->keys.count * sizeof(*config->keys.services));
	free(config->keys.services);
	explicit_bzero(&config->keys, sizeof(config->keys));
}

const char *config_self_text(const struct fl_server_config *program, char *text)
{
	size_t len = 0;

	if (!fl_address_is_none(&program->self))
		len = strlen(text_address_print(&program->self, text));
	if (len && !fl_address_is_none(&program->self6))
		text[len++] = ',';
	if (!fl_address_is_none(&program->self6))
		inet_ntop(AF_INET6, program->self6.bytes, text + len, (socklen_t)(TEXT_LEN - len));
	return text;
}
