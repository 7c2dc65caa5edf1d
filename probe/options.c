/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "config/protection.h"

static const char prefix[] = "FAIRLEAD_PROBE_";

const char probe_usage[] =
    "usage: fairlead-probe --id NAME --zookeeper HOST:PORT,... --address ADDRESS [options]\n"
    "\n"
    "Probes the backends of all services that have a healthCheck along the data path, and\n"
    "writes the results into ZooKeeper.\n"
    "\n"
    "  --id NAME            the name of the mux on this host\n"
    "  --zookeeper LIST     ZooKeeper servers, HOST:PORT separated by commas\n"
    "  --zookeeper-clear-text on|off  on: --zookeeper may be an address other than loopback, without TLS  (off)\n"
    "  --address ADDRESS    the mux's outer source address, repeatable, one of each family\n"
    "  --source ADDRESS     address of this host to which servers answer, repeatable, one of each family\n"
    "                                                      (those of --address)\n"
    "  --ports FIRST-LAST   source ports of probes, at least 64 (16384-32767)\n"
    "  --http HOST:PORT|unix:PATH  metrics                 (127.0.0.1:9109)\n"
    "  --http-cert FILE, --http-key FILE  TLS at --http: certificates and key, PEM; read again when they change\n"
    "  --http-tokens FILE   bearer tokens that --http accepts, one a line; read again when it changes\n"
    "  --http-open on|off   on: --http may be an address other than loopback without TLS and tokens  (off)\n"
    "  --commands DIR       folder of the commands that health checks may name (none)\n"
    "  --ca-file FILE       certificates to trust, in place of the system's\n"
    "  --tag-key FILE       the cluster's key, 32 hex digits, as the muxes have it\n"
    "  --zookeeper-auth FILE  this probe's logins, as fairleadctl mux add prints them\n"
    "  --root PATH          root in ZooKeeper              (/fairlead)\n"
    "  --help               this text\n"
    "  --version            its version\n"
    "\n"
    "Each option can be set in the environment as FAIRLEAD_PROBE_<NAME>; several addresses are separated by spaces\n"
    "there. The command line wins.\n";

typedef int setter(struct probe_options *options, const char *name, const char *value, struct reason *why);

static int set_id(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	bool is_right = isalnum((unsigned char)*value) && strlen(value) <= OPTIONS_ID_MAX;

	for (const char *p = value; is_right && *p; p++)
		is_right = isalnum((unsigned char)*p) || strchr("-_.", *p);
	if (!is_right)
		return reason_set(why, -EINVAL, "%s: '%.80s' is not allowed; allowed: as the mux's --id", name, value);
	strcpy(options->id, value);
	return 0;
}

static int set_zookeeper(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	if (!*value)
		return reason_set(why, -EINVAL, "%s: '' is not allowed; allowed: HOST:PORT,...", name);
	options->zookeeper = value;
	return 0;
}

static int set_zookeeper_clear_text(struct probe_options *options, const char *name, const char *value,
				    struct reason *why)
{
	if (strcmp(value, "on") && strcmp(value, "off"))
		return reason_set(why, -EINVAL, "%s: '%.80s' is not allowed; allowed: on, off", name, value);
	options->zookeeper_clear_text = !strcmp(value, "on");
	return 0;
}

static int set_root(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	if (value[0] != '/' || !value[1] || value[strlen(value) - 1] == '/' || strlen(value) > 255)
		return reason_set(why, -EINVAL, "%s: '%.80s' is not allowed; allowed: a path such as /fairlead", name,
				  value);
	options->root = value;
	return 0;
}

static int set_addresses(struct fl_address out[2], const char *name, const char *value, struct reason *why)
{
	char *copy = strdup(value), *rest = copy, *one;
	int error = copy ? 0 : -ENOMEM;

	while (!error && (one = strsep(&rest, " "))) {
		struct fl_address address, *own;

		if (!*one)
			continue;
		if (!address_parse(one, &address) || fl_address_is_none(&address)) {
			error = reason_set(why, -EINVAL, "%s: '%.60s' is not allowed; allowed: an IPv4 or IPv6 address",
					   name, one);
			break;
		}
		own = &out[!fl_address_is_ipv4(&address)];
		if (!fl_address_is_none(own) && !fl_address_equal(own, &address))
			error = reason_set(why, -EINVAL, "%s: '%.60s' is a second one; allowed: one of each family",
					   name, one);
		*own = address;
	}
	free(copy);
	return error;
}

static int set_address(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	return set_addresses(options->outer, name, value, why);
}

static int set_source(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	return set_addresses(options->inner, name, value, why);
}

static bool read_port(const char *text, char **end, unsigned long *port)
{
	*port = strtoul(text, end, 10);
	return isdigit((unsigned char)*text) && *port >= 1 && *port <= 65535;
}

static int set_ports(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	unsigned long first, last;
	char *end;

	if (!read_port(value, &end, &first) || *end != '-' || !read_port(end + 1, &end, &last) || *end ||
	    last < first + OPTIONS_PORTS_MIN - 1)
		return reason_set(why, -EINVAL, "%s: '%.40s' is not allowed; allowed: FIRST-LAST, at least %d ports",
				  name, value, OPTIONS_PORTS_MIN);
	options->first_port = (uint16_t)first;
	options->last_port = (uint16_t)last;
	return 0;
}

static int set_http(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	return http_access_set(&options->http, "http", name, value, why);
}

static int set_http_cert(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	return http_access_set(&options->http, "http-cert", name, value, why);
}

static int set_http_key(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	return http_access_set(&options->http, "http-key", name, value, why);
}

static int set_http_tokens(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	return http_access_set(&options->http, "http-tokens", name, value, why);
}

static int set_http_open(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	return http_access_set(&options->http, "http-open", name, value, why);
}

static int set_commands(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	if (value[0] != '/' || strlen(value) > 255)
		return reason_set(why, -EINVAL, "%s: '%.80s' is not allowed; allowed: an absolute path", name, value);
	options->commands = value;
	return 0;
}

static int set_ca_file(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	if (!*value)
		return reason_set(why, -EINVAL, "%s: '' is not allowed; allowed: a file", name);
	options->ca_file = value;
	return 0;
}

static int set_tag_key(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	options->has_tag_key = true;
	return tag_key_read(name, value, &options->tag_keys, why);
}

static int set_login(struct probe_options *options, const char *name, const char *value, struct reason *why)
{
	return login_read(name, value, &options->login, why);
}

static const struct {
	const char *flag;
	setter *set;
} flags[] = {
    {"id", set_id},
    {"zookeeper", set_zookeeper},
    {"zookeeper-clear-text", set_zookeeper_clear_text},
    {"address", set_address},
    {"source", set_source},
    {"ports", set_ports},
    {"http", set_http},
    {"http-cert", set_http_cert},
    {"http-key", set_http_key},
    {"http-tokens", set_http_tokens},
    {"http-open", set_http_open},
    {"commands", set_commands},
    {"ca-file", set_ca_file},
    {"tag-key", set_tag_key},
    {"zookeeper-auth", set_login},
    {"root", set_root},
};

enum { FLAGS = sizeof(flags) / sizeof(flags[0]) };

static int find(const char *name)
{
	for (int i = 0; i < FLAGS; i++)
		if (!strcmp(flags[i].flag, name))
			return i;
	return -1;
}

/* Takes FAIRLEAD_PROBE_NAME=value for flags that the command line does not have. */
static int take_variable(struct probe_options *options, const char *variable, const bool *given, struct reason *why)
{
	const char *equals = strchr(variable, '=');
	char name[64] = "", shown[80];
	size_t len = equals ? (size_t)(equals - variable) : 0;
	int at;

	if (!equals || len - (sizeof(prefix) - 1) >= sizeof(name))
		return 0;
	for (size_t i = sizeof(prefix) - 1; i < len; i++)
		name[i - sizeof(prefix) + 1] = variable[i] == '_' ? '-' : (char)tolower((unsigned char)variable[i]);
	at = find(name);
	if (at < 0)
		return reason_set(why, -EINVAL, "%.*s: unknown variable; --help lists what is allowed", (int)len,
				  variable);
	snprintf(shown, sizeof(shown), "%.*s", (int)len, variable);
	return given[at] ? 0 : flags[at].set(options, shown, equals + 1, why);
}

static int check(struct probe_options *options, struct reason *why)
{
	int error;

	if (!options->id[0])
		return reason_set(why, -EINVAL, "--id is missing; allowed: the name of the mux on this host");
	if (!options->zookeeper)
		return reason_set(why, -EINVAL, "--zookeeper is missing; allowed: HOST:PORT,...");
	if (fl_address_is_none(&options->outer[0]) && fl_address_is_none(&options->outer[1]))
		return reason_set(why, -EINVAL, "--address is missing; allowed: the mux's outer source address");
	for (int i = 0; i < 2; i++)
		if (fl_address_is_none(&options->inner[i]))
			options->inner[i] = options->outer[i];
	error = protection_check_zookeeper(options->zookeeper, options->zookeeper_clear_text, why);
	return error ? error : http_access_check(&options->http, why);
}

int probe_options_parse(struct probe_options *options, int argc, char *const *argv, char *const *environment,
			struct reason *why)
{
	bool given[FLAGS] = {false};
	int error = 0;

	*options = (struct probe_options){.root = "/fairlead",
					  .first_port = 16384,
					  .last_port = 32767,
					  .http = {.host = "127.0.0.1", .port = OPTIONS_HTTP_PORT}};
	for (int i = 0; i < argc && !error; i++) {
		int at = strncmp(argv[i], "--", 2) ? -1 : find(argv[i] + 2);

		if (!strcmp(argv[i], "--help")) {
			options->help = true;
			return 0;
		}
		if (!strcmp(argv[i], "--version")) {
			options->version = true;
			return 0;
		}
		if (at < 0)
			return reason_set(why, -EINVAL, "%.80s: unknown argument; --help lists what is allowed",
					  argv[i]);
		if (i + 1 == argc)
			return reason_set(why, -EINVAL, "%s: it has no value; --help lists what is allowed", argv[i]);
		given[at] = true;
		error = flags[at].set(options, argv[i], argv[i + 1], why);
		i++;
	}
	for (int i = 0; environment[i] && !error; i++)
		if (!strncmp(environment[i], prefix, sizeof(prefix) - 1))
			error = take_variable(options, environment[i], given, why);
	return error ? error : check(options, why);
}
