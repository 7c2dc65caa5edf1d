// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "refusal.h"

enum {
	IPV4_PREFIX = 96, /* bits of ::ffff:0:0 in front of an IPv4 address */
	ADDRESS_BITS = 128,
};

const struct config config_default = {
    .program = {.layout = FL_SERVER_LAYOUT, .window = FL_WINDOW_DEFAULT, .port = FL_GUE_PORT, .chaining = 1},
    .quiet = FL_SERVER_QUIET_DEFAULT,
};

bool config_number_parse(const char *text, unsigned long min, unsigned long max, unsigned long *value)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*value = strtoul(text, &end, 10);
	return !errno && !*end && *value >= min && *value <= max;
}

static bool address_parse(const char *text, struct fl_address *address)
{
	fl_u8 ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1) {
		*address = fl_address_from_ipv4(ipv4);
		return true;
	}
	return inet_pton(AF_INET6, text, address->bytes) == 1;
}

static const char address_allowed[] =
    "an address of this host, such as 10.1.0.21, or one of each family, such as 10.1.0.21,2001:db8:1::21";

static bool self_set(struct fl_server_config *program, const char *text)
{
	struct fl_address address, *self;

	if (!address_parse(text, &address) || fl_address_is_none(&address))
		return false;
	self = fl_address_is_ipv4(&address) ? &program->self : &program->self6;
	if (!fl_address_is_none(self))
		return false;
	*self = address;
	return true;
}

int config_set_address(struct config *config, const char *field, const char *text)
{
	struct fl_server_config program = config->program;
	char *copy = strdup(text), *rest = copy, *one;
	bool is_right = copy != NULL;

	memset(&program.self, 0, sizeof(program.self));
	memset(&program.self6, 0, sizeof(program.self6));
	while (is_right && (one = strsep(&rest, ",")))
		is_right = self_set(&program, one);
	free(copy);
	if (!is_right)
		return refusal_print(field, text, address_allowed);
	config->program = program;
	return 0;
}

int config_set_port(struct config *config, const char *field, const char *text)
{
	unsigned long port;

	if (!config_number_parse(text, 1, 65535, &port))
		return refusal_print(field, text, "a UDP port from 1 to 65535");
	config->program.port = (fl_u16)port;
	return 0;
}

int config_set_window(struct config *config, const char *field, const char *text)
{
	unsigned long window;

	if (!config_number_parse(text, 1, FL_SERVER_WINDOW_MAX, &window))
		return refusal_print(field, text, "whole seconds from 1 to 86400");
	config->program.window = (fl_u32)window;
	return 0;
}

static const char quiet_allowed[] = "whole seconds from 0 to 3610";

int config_set_quiet(struct config *config, const char *field, const char *text)
{
	unsigned long seconds;

	if (!config_number_parse(text, 0, FL_SERVER_QUIET_MAX, &seconds))
		return refusal_print(field, text, quiet_allowed);
	config->quiet = (fl_u32)seconds;
	return 0;
}

int config_set_clock_error(struct config *config, const char *field, const char *text)
{
	bool is_behind = text[0] == '-';
	unsigned long seconds;

	if (!config_number_parse(text + is_behind, 0, FL_SERVER_WINDOW_MAX, &seconds))
		return refusal_print(field, text, "whole seconds from -86400 to 86400");
	/* subtracted from the clock */
	config->program.clock_offset = (is_behind ? seconds : -seconds) * 1000000000ULL;
	return 0;
}

static const char ipip_service_allowed[] = "a service's id from 1 to 65535";

int config_set_ipip_service(struct config *config, const char *field, const char *text)
{
	unsigned long service;

	if (!config_number_parse(text, 1, FL_SERVER_SERVICES - 1, &service))
		return refusal_print(field, text, ipip_service_allowed);
	config->program.ipip_service = (fl_u16)service;
	return 0;
}

/* 32 hex digits, optionally followed by a newline. */
static bool key_parse(const char *text, struct fl_siphash_key *key)
{
	fl_u8 bytes[16];
	size_t i;

	if (strspn(text, "0123456789abcdefABCDEF") != 32 || (text[32] && strcmp(text + 32, "\n")))
		return false;
	for (i = 0; i < sizeof(bytes); i++) {
		char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};

		bytes[i] = (fl_u8)strtoul(digits, NULL, 16);
	}
	*key = fl_siphash_key_load(bytes);
	explicit_bzero(bytes, sizeof(bytes));
	return true;
}

/* Checks the mode of the open file: the name may refer to another file by then. */
int config_set_tag_key(struct config *config, const char *field, const char *path)
{
	char text[64] = "", mode[8];
	FILE *file = fopen(path, "re");
	struct stat stat;
	int err = 0;

	if (!file || fstat(fileno(file), &stat) || !S_ISREG(stat.st_mode))
		err = refusal_print(field, path, "a file that can be read");
	if (!err && stat.st_mode & 077) {
		snprintf(mode, sizeof(mode), "%04o", stat.st_mode & 07777);
		fprintf(stderr, "fairlead-server: %s: %s: mode '%s' is not allowed; allowed: 0600 or narrower\n", field,
			path, mode);
		err = -EINVAL;
	}
	if (!err && (fread(text, 1, sizeof(text) - 1, file) == 0 || !key_parse(text, &config->program.tag_key)))
		err = refusal_print(field, path, "a file with 32 hex digits and nothing else");
	if (!err)
		config->program.tagged = 1;
	explicit_bzero(text, sizeof(text));
	if (file)
		fclose(file);
	return err;
}

static bool host_bits_are_zero(const struct fl_peer_key *peer)
{
	fl_u32 bit;

	for (bit = peer->prefix_len; bit < ADDRESS_BITS; bit++)
		if (peer->address.bytes[bit / 8] & (0x80 >> bit % 8))
			return false;
	return true;
}

static int peer_parse(const char *field, const char *text, struct fl_peer_key *peer)
{
	static const char allowed[] = "an address, or a prefix without host bits, such as 10.1.0.0/24";
	char address[CONFIG_TEXT_LEN];
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long bits;
	bool ipv4;

	if (!len || len >= sizeof(address))
		return refusal_print(field, text, allowed);
	memcpy(address, text, len);
	address[len] = '\0';
	if (!address_parse(address, &peer->address))
		return refusal_print(field, text, allowed);
	ipv4 = !strchr(address, ':');
	bits = ipv4 ? 32 : ADDRESS_BITS;
	if (slash && !config_number_parse(slash + 1, 0, bits, &bits))
		return refusal_print(field, text, allowed);
	peer->prefix_len = (fl_u32)bits + (ipv4 ? IPV4_PREFIX : 0);
	return host_bits_are_zero(peer) ? 0 : refusal_print(field, text, allowed);
}

static int peer_add(struct config *config, const char *field, const char *text)
{
	int err;

	if (config->peer_count == FL_SERVER_PEERS_MAX)
		return refusal_print(field, text, "at most 1024 prefixes");
	err = peer_parse(field, text, &config->peers[config->peer_count]);
	if (!err)
		config->peer_count++;
	return err;
}

int config_set_peers(struct config *config, const char *field, const char *list)
{
	char *copy = strdup(list);
	char *rest = copy, *one;
	int err = copy ? 0 : -ENOMEM;

	config->peer_count = 0;
	while (!err && (one = strsep(&rest, ",")))
		err = peer_add(config, field, one);
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

static int set_scalar(struct config *config, const char *field, json_t *value, json_type type, const char *allowed,
		      int (*set)(struct config *, const char *, const char *))
{
	char *text = value_text(field, value, type, allowed);
	int err = text ? set(config, field, text) : -EINVAL;

	free(text);
	return err;
}

static int set_peers(struct config *config, const char *field, json_t *list)
{
	static const char allowed[] = "a list of prefixes, such as [\"10.1.0.0/24\"]";
	json_t *one;
	size_t i;
	int err = 0;

	if (!json_is_array(list)) {
		free(value_text(field, list, JSON_ARRAY, allowed));
		return -EINVAL;
	}
	config->peer_count = 0;
	json_array_foreach(list, i, one)
	{
		err = set_scalar(config, field, one, JSON_STRING, allowed, peer_add);
		if (err)
			break;
	}
	return err;
}

static int set_flag(fl_u8 *flag, const char *field, json_t *value)
{
	if (!json_is_boolean(value)) {
		free(value_text(field, value, JSON_TRUE, "true or false"));
		return -EINVAL;
	}
	*flag = json_is_true(value);
	return 0;
}

static int set_key(struct config *config, const char *path, const char *key, json_t *value)
{
	char field[512];

	snprintf(field, sizeof(field), "%s in %s", key, path);
	if (!strcmp(key, "address"))
		return set_scalar(config, field, value, JSON_STRING, address_allowed, config_set_address);
	if (!strcmp(key, "port"))
		return set_scalar(config, field, value, JSON_INTEGER, "a UDP port from 1 to 65535", config_set_port);
	if (!strcmp(key, "windowSeconds"))
		return set_scalar(config, field, value, JSON_INTEGER, "whole seconds from 1 to 86400",
				  config_set_window);
	if (!strcmp(key, "peers"))
		return set_peers(config, field, value);
	if (!strcmp(key, "tagKeyFile"))
		return set_scalar(config, field, value, JSON_STRING, "the name of a file", config_set_tag_key);
	if (!strcmp(key, "ipipService"))
		return set_scalar(config, field, value, JSON_INTEGER, ipip_service_allowed, config_set_ipip_service);
	if (!strcmp(key, "quietSeconds"))
		return set_scalar(config, field, value, JSON_INTEGER, quiet_allowed, config_set_quiet);
	if (!strcmp(key, "chaining"))
		return set_flag(&config->program.chaining, field, value);
	if (!strcmp(key, "mangle"))
		return set_flag(&config->program.mangle, field, value);
	return refusal_print(path, key,
			     "the keys address, port, windowSeconds, peers, tagKeyFile, chaining, ipipService, mangle, "
			     "quietSeconds");
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

int config_check(const struct config *config)
{
	if (fl_address_is_none(&config->program.self) && fl_address_is_none(&config->program.self6))
		return refusal_print("--address", "", address_allowed);
	if (!config->peer_count)
		return refusal_print("--peers", "",
				     "prefixes of the muxes and servers that may send, such as 10.1.0.0/24");
	if (config->program.ipip_service && fl_address_is_none(&config->program.self))
		return refusal_print("--ipip-service", "given", "only with an IPv4 address: IPIP is IPv4 in IPv4");
	if (config->program.ipip_service && config->program.tagged)
		return refusal_print(
		    "--ipip-service", "given",
		    "only without --tag-key: IPIP has no room for a tag, so that all its packets would be dropped");
	return 0;
}

const char *config_address_text(const struct fl_address *address, char *text)
{
	if (fl_address_is_ipv4(address))
		inet_ntop(AF_INET, address->bytes + 12, text, CONFIG_TEXT_LEN);
	else
		inet_ntop(AF_INET6, address->bytes, text, CONFIG_TEXT_LEN);
	return text;
}

const char *config_self_text(const struct fl_server_config *program, char *text)
{
	size_t len = 0;

	if (!fl_address_is_none(&program->self))
		len = strlen(config_address_text(&program->self, text));
	if (len && !fl_address_is_none(&program->self6))
		text[len++] = ',';
	if (!fl_address_is_none(&program->self6))
		inet_ntop(AF_INET6, program->self6.bytes, text + len, (socklen_t)(CONFIG_TEXT_LEN - len));
	return text;
}

const char *config_peer_text(const struct fl_peer_key *peer, char *text)
{
	bool ipv4 = fl_address_is_ipv4(&peer->address) && peer->prefix_len >= IPV4_PREFIX;
	size_t len;

	config_address_text(&peer->address, text);
	len = strlen(text);
	snprintf(text + len, CONFIG_TEXT_LEN - len, "/%u", peer->prefix_len - (ipv4 ? IPV4_PREFIX : 0));
	return text;
}
