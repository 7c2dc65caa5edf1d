/* SPDX-License-Identifier: Apache-2.0 */
#include "config/options.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "config/protection.h"

/* The paths of enum burst_path that this architecture has beside the reference. */
#ifdef __x86_64__
#define LANES_WORDS "|avx2|avx512"
#define LANES_NAMES "avx2", "avx512",
#elif defined(__aarch64__)
#define LANES_WORDS "|neon"
#define LANES_NAMES "neon",
#else
#define LANES_WORDS ""
#define LANES_NAMES
#endif

static const char prefix[] = "FAIRLEAD_MUX_";

const char options_usage[] =
    "  --id NAME            name of this mux, unique in the cluster: letters, digits, '-', '_', '.'\n"
    "  --zookeeper LIST     ZooKeeper servers, HOST:PORT separated by commas\n"
    "  --zookeeper-clear-text on|off  on: --zookeeper may be an address other than loopback, without TLS  (off)\n"
    "  --port PORT          port to receive and send by, repeatable:\n"
    "                         af_xdp:IFACE      shares the interface with the kernel by an XDP program\n"
    "                         af_packet:IFACE   a packet socket on the interface\n"
    "                         0000:01:00.0      a PCI device, taken from the kernel\n"
    "                         net_NAME0,ARGS    any DPDK virtual device\n"
    "  --address ADDRESS    outer source address, repeatable, one of each family\n"
    "                                                      (the first ones of the first port's interface)\n"
    "  --http HOST:PORT|unix:PATH  metrics, health, explain, samples (127.0.0.1:9108)\n"
    "  --http-cert FILE, --http-key FILE  TLS at --http: certificates and key, PEM; read again when they change\n"
    "  --http-tokens FILE   bearer tokens that --http accepts, one a line; read again when it changes\n"
    "  --http-open on|off   on: --http may be an address other than loopback without TLS and tokens  (off)\n"
    "  --http-samples on|off  on: --http shows packets to every client that it answers; off: only over a Unix socket,\n"
    "                       or to clients of this host with a token (off)\n"
    "  --hello PORT|off     UDP port of the hellos between muxes, the same at all (6081)\n"
    "  --workers N          packet threads                 (1)\n"
    "  --memory MB          packet memory                  (256)\n"
    "  --no-huge            run without huge pages\n"
    "  --announce tun|none  how VIPs are announced         (tun)\n"
    "  --watchdog on|off    kills a mux that is stopped    (off)\n"
    "  --pipeline auto|interpreted|compiled  how fairlead-p4mux runs its pipeline; auto: compiled if it was built so\n"
    "                                                      (auto)\n"
    "  --packet-path auto|reference" LANES_WORDS "\n"
    "                       how packets are processed; auto: as fast as the processor can    (auto)\n"
    "  --check-paths N      process copies of one burst in N by the reference path too, and compare; 0: none\n"
    "                                                      (0)\n"
    "  --spin US            microseconds without a packet after which a worker sleeps; until then it takes all of a\n"
    "                       core, and packets do not wait for it to wake                    (30)\n"
    "  --withdraw-wait S    seconds to wait for routers to reroute before the mux stops  (2)\n"
    "  --drain S            seconds to keep serving packets that still arrive after that   (10)\n"
    "  --behind-seconds S   withdraw a service's VIPs once its ring has been behind for this long and another mux\n"
    "                       is ahead; 0: never                                              (60)\n"
    "  --behind-generations N  the same, by a number of generations; 0: never               (0)\n"
    "  --zookeeper-auth FILE  this mux's logins, as fairleadctl mux add prints them\n"
    "  --tag-key FILE       the cluster's key, 32 hex digits, for tags; while it is replaced two: current HEX, next "
    "HEX\n"
    "  --root PATH          root in ZooKeeper              (/fairlead)\n"
    "  --state-dir DIR|none  folder for the state with which it starts without ZooKeeper\n"
    "                                                      (/var/lib/fairlead/mux)\n"
    "  --check              check whether a mux can run here, and exit; exit code 0: it can\n"
    "  --output text|json   format of --check's report     (text)\n"
    "  --help               this text\n"
    "  --version            its version\n"
    "\n"
    "Each option can be set in the environment as FAIRLEAD_MUX_<NAME>, e.g. FAIRLEAD_MUX_NO_HUGE=true; several\n"
    "ports are separated by spaces there. The command line wins.\n";

struct option;

typedef int setter(struct options *options, const struct option *option, const char *name, const char *value,
		   struct reason *why);

struct option {
	const char *flag; /* without the dashes */
	setter *set;
	size_t at;                /* of a number, a bool or an enum in struct options */
	unsigned low, high;       /* what a number may be; of a bool: which of its words is true */
	const char *const *words; /* of a bool, or of an enum in its order */
	bool alone;               /* no value on the command line; true or false in the environment */
	bool again;               /* may be given several times */
};

static int set_text(char *out, size_t size, const char *name, const char *value, struct reason *why)
{
	if (!*value || strlen(value) >= size)
		return reason_set(why, -EINVAL, "%s: '%s' is not allowed; allowed: 1..%zu characters", name, value,
				  size - 1);
	strcpy(out, value);
	return 0;
}

/* The index of the value among the option's words, or -EINVAL. */
static int find_word(const struct option *option, const char *name, const char *value, struct reason *why)
{
	char allowed[64] = "";

	for (int i = 0; option->words[i]; i++) {
		if (!strcmp(value, option->words[i]))
			return i;
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s", i ? ", " : "",
			 option->words[i]);
	}
	return reason_refuse(why, name, value, allowed);
}

static int set_bool(struct options *options, const struct option *option, const char *name, const char *value,
		    struct reason *why)
{
	int found = find_word(option, name, value, why);

	*(bool *)((char *)options + option->at) = found == (int)option->low;
	return found < 0 ? found : 0;
}

static int set_enum(struct options *options, const struct option *option, const char *name, const char *value,
		    struct reason *why)
{
	int found = find_word(option, name, value, why);

	*(unsigned *)(void *)((char *)options + option->at) = (unsigned)found;
	return found < 0 ? found : 0;
}

static int set_number(struct options *options, const struct option *option, const char *name, const char *value,
		      struct reason *why)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (errno || !isdigit((unsigned char)*value) || *end || number < option->low || number > option->high)
		return reason_set(why, -EINVAL, "%s: '%s' is not allowed; allowed: %u..%u", name, value, option->low,
				  option->high);
	*(unsigned *)(void *)((char *)options + option->at) = (unsigned)number;
	return 0;
}

static int set_id(struct options *options, const struct option *option, const char *name, const char *value,
		  struct reason *why)
{
	static const char allowed[] = "letters, digits, '-', '_', '.', at most 63, beginning with a letter or digit";

	(void)option;
	if (!isalnum((unsigned char)*value) || strlen(value) >= sizeof(options->id))
		return reason_refuse(why, name, value, allowed);
	for (const char *p = value; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
			return reason_refuse(why, name, value, allowed);
	strcpy(options->id, value);
	return 0;
}

static int set_zookeeper(struct options *options, const struct option *option, const char *name, const char *value,
			 struct reason *why)
{
	const char *at = value;

	(void)option;
	for (;;) {
		size_t len = strcspn(at, ",");
		char host[OPTIONS_TEXT_MAX + 1];
		uint16_t port;

		if (host_port_split(at, len, host, sizeof(host), &port))
			return reason_refuse(why, name, value,
					     "HOST:PORT, several separated by commas, PORT 1..65535, IPv6 in brackets");
		if (!at[len])
			break;
		at += len + 1;
	}
	return set_text(options->zookeeper, sizeof(options->zookeeper), name, value, why);
}

static int set_root(struct options *options, const struct option *option, const char *name, const char *value,
		    struct reason *why)
{
	size_t len = strlen(value);

	(void)option;
	if (value[0] != '/' || len < 2 || value[len - 1] == '/' || strstr(value, "//"))
		return reason_refuse(why, name, value, "an absolute path without a trailing '/', such as /fairlead");
	return set_text(options->root, sizeof(options->root), name, value, why);
}

static int set_state_dir(struct options *options, const struct option *option, const char *name, const char *value,
			 struct reason *why)
{
	(void)option;
	options->state_dir[0] = 0;
	if (!strcmp(value, "none"))
		return 0;
	if (value[0] != '/')
		return reason_refuse(why, name, value, "an absolute path, or none");
	return set_text(options->state_dir, sizeof(options->state_dir), name, value, why);
}

/* One port, or several separated by spaces in the environment. port.c checks their contents. */
static int set_port(struct options *options, const struct option *option, const char *name, const char *value,
		    struct reason *why)
{
	const char *at = value + strspn(value, " ");

	(void)option;
	if (!*at)
		return reason_refuse(why, name, value, "a port");
	while (*at) {
		size_t len = strcspn(at, " ");

		if (options->ports_count == OPTIONS_PORTS_MAX)
			return reason_set(why, -EINVAL, "%s: '%s' is one too many; at most %d ports are allowed", name,
					  at, OPTIONS_PORTS_MAX);
		if (len > OPTIONS_TEXT_MAX)
			return reason_set(why, -EINVAL, "%s: '%.32s...' is too long; at most %d characters are allowed",
					  name, at, OPTIONS_TEXT_MAX);
		for (unsigned i = 0; i < options->ports_count; i++)
			if (strlen(options->ports[i]) == len && !memcmp(options->ports[i], at, len))
				return reason_set(why, -EINVAL, "%s: '%s' is given again; each port is allowed once",
						  name, options->ports[i]);
		memcpy(options->ports[options->ports_count], at, len);
		options->ports[options->ports_count++][len] = 0;
		at += len;
		at += strspn(at, " ");
	}
	return 0;
}

/* One address, or two separated by a space in the environment; at most one of each family. */
static int set_address(struct options *options, const struct option *option, const char *name, const char *value,
		       struct reason *why)
{
	char text[OPTIONS_TEXT_MAX + 1], *at = text, *word;

	(void)option;
	snprintf(text, sizeof(text), "%s", value);
	while ((word = strsep(&at, " "))) {
		bool ipv4 = !strchr(word, ':');
		struct fl_address *out = ipv4 ? &options->address : &options->address6, address;
		const uint8_t *bytes = address.bytes;

		if (!address_parse(word, &address) ||
		    (ipv4 && (bytes[12] == 0 || bytes[12] == 127 || bytes[12] >= 224)) ||
		    (!ipv4 && (fl_address_is_none(&address) || fl_address_is_ipv4(&address) || bytes[0] == 0xff ||
			       (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80))))
			return reason_refuse(why, name, value, "an IPv4 or a global IPv6 address of this host");
		if (!fl_address_is_none(out))
			return reason_set(why, -EINVAL, "%s: '%s' is the second of its family; one of each is allowed",
					  name, word);
		*out = address;
	}
	return 0;
}

static int set_http(struct options *options, const struct option *option, const char *name, const char *value,
		    struct reason *why)
{
	return http_access_set(&options->http, option->flag, name, value, why);
}

static int set_hello(struct options *options, const struct option *option, const char *name, const char *value,
		     struct reason *why)
{
	if (!strcmp(value, "off")) {
		options->hello_port = 0;
		return 0;
	}
	if (set_number(options, option, name, value, why))
		return reason_refuse(why, name, value, "a UDP port 1..65535, off");
	return 0;
}

static int set_zookeeper_auth(struct options *options, const struct option *option, const char *name, const char *value,
			      struct reason *why)
{
	(void)option;
	return login_read(name, value, &options->login, why);
}

static int set_tag_key(struct options *options, const struct option *option, const char *name, const char *value,
		       struct reason *why)
{
	int error = tag_key_read(name, value, &options->tag_keys, why);

	(void)option;
	options->has_tag_key = !error;
	return error;
}

static const char *const on_off[] = {"on", "off", NULL}, *const true_false[] = {"true", "false", NULL},
			 *const formats[] = {"text", "json", NULL}, *const announces[] = {"tun", "none", NULL},
			 *const pipelines[] = {"auto", "interpreted", "compiled", NULL},
			 *const paths[] = {"auto", "reference", LANES_NAMES NULL};

/* clang-format off */
#define NUMBER(member, least, most) .set = set_number, .at = offsetof(struct options, member), .low = least, .high = most
#define BOOL(member, all) .set = set_bool, .at = offsetof(struct options, member), .words = all
#define ENUM(member, all) .set = set_enum, .at = offsetof(struct options, member), .words = all

static const struct option table[] = {
	{"id", .set = set_id},
	{"zookeeper", .set = set_zookeeper},
	{"zookeeper-clear-text", BOOL(zookeeper_clear_text, on_off)},
	{"root", .set = set_root},
	{"state-dir", .set = set_state_dir},
	{"port", .set = set_port, .again = true},
	{"address", .set = set_address, .again = true},
	{"http", .set = set_http},
	{"http-cert", .set = set_http},
	{"http-key", .set = set_http},
	{"http-tokens", .set = set_http},
	{"http-open", .set = set_http},
	{"http-samples", BOOL(http_samples, on_off)},
	{"hello", .set = set_hello, .at = offsetof(struct options, hello_port), .low = 1, .high = 65535},
	{"workers", NUMBER(workers, 1, OPTIONS_WORKERS_MAX)},
	{"memory", NUMBER(memory, 64, 1024 * 1024)},
	{"no-huge", BOOL(no_huge, true_false), .alone = true},
	{"announce", ENUM(announce, announces)},
	{"watchdog", BOOL(watchdog, on_off)},
	{"pipeline", ENUM(pipeline, pipelines)},
	{"packet-path", ENUM(packet_path, paths)},
	{"check-paths", NUMBER(check_paths, 0, OPTIONS_CHECK_PATHS_MAX)},
	{"tag-key", .set = set_tag_key},
	{"zookeeper-auth", .set = set_zookeeper_auth},
	{"behind-seconds", NUMBER(behind.seconds, 0, OPTIONS_SECONDS_MAX)},
	{"behind-generations", NUMBER(behind.generations, 0, OPTIONS_GENERATIONS_MAX)},
	{"check", BOOL(check, true_false), .alone = true},
	{"output", BOOL(json, formats), .low = 1},
	{"spin", NUMBER(spin, 0, OPTIONS_SPIN_MAX)},
	{"withdraw-wait", NUMBER(withdraw_wait, 0, OPTIONS_SECONDS_MAX)},
	{"drain", NUMBER(drain, 0, OPTIONS_SECONDS_MAX)},
};
/* clang-format on */

enum { OPTIONS = sizeof(table) / sizeof(table[0]) };

/* The index of the option named flag, of len characters; -1 if unknown. */
static int find(const char *flag, size_t len)
{
	for (int i = 0; i < OPTIONS; i++)
		if (strlen(table[i].flag) == len && !strncmp(table[i].flag, flag, len))
			return i;
	return -1;
}

/* Converts NO_HUGE to no-huge; the name ends at '='. Returns as find(). */
static int find_variable(const char *name)
{
	char flag[32];
	size_t len = 0;

	for (; name[len] && name[len] != '='; len++) {
		if (len + 1 == sizeof(flag) || (name[len] != '_' && !isupper((unsigned char)name[len])))
			return -1;
		flag[len] = name[len] == '_' ? '-' : (char)tolower((unsigned char)name[len]);
	}
	return find(flag, len);
}

static int parse_arguments(struct options *options, int argc, char *const *argv, bool *seen, struct reason *why)
{
	for (int i = 0; i < argc; i++) {
		const char *flag = argv[i] + 2, *equals, *value;
		char name[40];
		int at, error;

		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			options->help = true;
			return 0;
		}
		if (!strcmp(argv[i], "--version")) {
			options->version = true;
			return 0;
		}
		if (strncmp(argv[i], "--", 2))
			return reason_set(why, -EINVAL, "'%s' is not allowed; see --help for what is", argv[i]);
		equals = strchr(flag, '=');
		at = find(flag, equals ? (size_t)(equals - flag) : strlen(flag));
		if (at < 0)
			return reason_set(why, -EINVAL, "'%s' is not an option; see --help for what is", argv[i]);
		snprintf(name, sizeof(name), "--%s", table[at].flag);
		value = equals ? equals + 1 : table[at].alone ? "true" : argv[++i];
		if (!equals && !table[at].alone && i == argc)
			return reason_set(why, -EINVAL, "%s: no value is given; see --help for what is allowed", name);
		if (seen[at] && !table[at].again)
			return reason_set(why, -EINVAL, "%s: '%s' is given again; it is allowed once", name, value);
		seen[at] = true;
		error = table[at].set(options, &table[at], name, value, why);
		if (error)
			return error;
	}
	return 0;
}

static int parse_environment(struct options *options, char *const *environment, const bool *seen, struct reason *why)
{
	for (; environment && *environment; environment++) {
		const char *equals = strchr(*environment, '=');
		char name[64];
		int at, error;

		if (strncmp(*environment, prefix, strlen(prefix)) || !equals)
			continue;
		at = find_variable(*environment + strlen(prefix));
		snprintf(name, sizeof(name), "%.*s", (int)(equals - *environment), *environment);
		if (at < 0)
			return reason_set(why, -EINVAL, "%s is not an option; see --help for what is", name);
		if (seen[at])
			continue;
		error = table[at].set(options, &table[at], name, equals + 1, why);
		if (error)
			return error;
	}
	return 0;
}

int options_parse(struct options *options, int argc, char *const *argv, char *const *environment, struct reason *why)
{
	bool seen[OPTIONS] = {false};
	int error;

	memset(options, 0, sizeof(*options));
	strcpy(options->root, "/fairlead");
	strcpy(options->state_dir, "/var/lib/fairlead/mux");
	strcpy(options->http.host, "127.0.0.1");
	options->http.port = 9108;
	options->hello_port = OPTIONS_HELLO_PORT;
	options->workers = 1;
	options->memory = 256;
	options->announce = ANNOUNCE_TUN;
	options->spin = OPTIONS_SPIN;
	options->withdraw_wait = 2;
	options->drain = 10;
	options->behind.seconds = 60;

	error = parse_arguments(options, argc, argv, seen, why);
	if (error || options->help || options->version)
		return error;
	error = parse_environment(options, environment, seen, why);
	if (error)
		return error;
	if (!*options->id)
		return reason_set(why, -EINVAL, "--id is missing; allowed: a name, unique in the cluster");
	if (!*options->zookeeper)
		return reason_set(why, -EINVAL, "--zookeeper is missing; allowed: HOST:PORT, several by commas");
	if (!options->ports_count)
		return reason_set(why, -EINVAL,
				  "--port is missing; allowed: af_xdp:IFACE, af_packet:IFACE, a PCI "
				  "address or a DPDK virtual device");
	error = protection_check_zookeeper(options->zookeeper, options->zookeeper_clear_text, why);
	return error ? error : http_access_check(&options->http, why);
}

unsigned options_unprotected(const struct options *options)
{
	return protection_missing(options->has_tag_key, options->login.count, options->zookeeper, &options->http);
}
