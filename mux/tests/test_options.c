/* SPDX-License-Identifier: Apache-2.0 */
/* Flags and environment: what is accepted, and every error names the option, its value and what is allowed. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "config/options.h"
#include "config/protection.h"
#include "packet/burst.h"

enum { WORDS_MAX = 40, ENVIRONMENT_MAX = 4 };

/* Splits at '|', since values contain spaces. */
static int split(char *text, char **words)
{
	int n = 0;

	for (char *word = strtok(text, "|"); word; word = strtok(NULL, "|"))
		words[n++] = word;
	words[n] = NULL;
	return n;
}

static int parse(struct options *options, const char *arguments, const char *environment, struct reason *why)
{
	char argument_text[4096], environment_text[512];
	char *argv[WORDS_MAX + 1], *env[ENVIRONMENT_MAX + 1];
	int argc;

	snprintf(argument_text, sizeof(argument_text), "%s", arguments);
	snprintf(environment_text, sizeof(environment_text), "%s", environment);
	argc = split(argument_text, argv);
	split(environment_text, env);
	return options_parse(options, argc, argv, env, why);
}

#define BASE "--id|mux1|--zookeeper|127.0.0.1:2181|--port|af_xdp:eth0"

static void defaults_are_as_documented(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(parse(&o, BASE, "", &why), 0);
	assert_string_equal(o.id, "mux1");
	assert_string_equal(o.zookeeper, "127.0.0.1:2181");
	assert_int_equal(o.ports_count, 1);
	assert_string_equal(o.ports[0], "af_xdp:eth0");
	assert_true(fl_address_is_none(&o.address));
	assert_true(fl_address_is_none(&o.address6));
	assert_string_equal(o.http.host, "127.0.0.1");
	assert_int_equal(o.http.port, 9108);
	assert_int_equal(o.hello_port, 6081);
	assert_int_equal(o.workers, 1);
	assert_int_equal(o.memory, 256);
	assert_false(o.no_huge);
	assert_int_equal(o.announce, ANNOUNCE_TUN);
	assert_false(o.watchdog);
	assert_string_equal(o.root, "/fairlead");
	assert_string_equal(o.state_dir, "/var/lib/fairlead/mux");
	assert_int_equal(o.spin, OPTIONS_SPIN);
	assert_int_equal(o.withdraw_wait, 2);
	assert_int_equal(o.drain, 10);
	assert_int_equal(o.behind.seconds, 60);
	assert_int_equal(o.behind.generations, 0);
}

static void every_flag_is_accepted(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(
	    parse(
		&o,
		"--id=m.2_x-y|--zookeeper|a:1,[2001:db8::1]:2,c:65535|--zookeeper-clear-text|on|--port|af_packet:eth0|-"
		"-port=net_null0,"
		"no-rx=1|--address|10.1.0.11|--address|2001:db8::b|--http|[::1]:80|--workers|4|--memory|1024|--no-huge|"
		"--announce|none|--watchdog|on|--state-dir|/s|--root|/a/"
		"b|--spin|1000000|--withdraw-wait|0|--drain|3600|--hello|65535|--behind-seconds|0|--behind-generations|"
		"1000000",
		"", &why),
	    0);
	assert_string_equal(o.id, "m.2_x-y");
	assert_int_equal(o.ports_count, 2);
	assert_string_equal(o.ports[1], "net_null0,no-rx=1");
	assert_memory_equal(o.address.bytes + 10, "\xff\xff\x0a\x01\x00\x0b", 6);
	assert_memory_equal(o.address6.bytes, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x0b", 16);
	assert_string_equal(o.http.host, "::1");
	assert_int_equal(o.http.port, 80);
	assert_int_equal(o.workers, 4);
	assert_int_equal(o.memory, 1024);
	assert_true(o.no_huge);
	assert_int_equal(o.announce, ANNOUNCE_NONE);
	assert_true(o.watchdog);
	assert_string_equal(o.root, "/a/b");
	assert_string_equal(o.state_dir, "/s");
	assert_int_equal(o.spin, 1000000);
	assert_int_equal(o.withdraw_wait, 0);
	assert_int_equal(o.drain, 3600);
	assert_int_equal(o.hello_port, 65535);
	assert_int_equal(o.behind.seconds, 0);
	assert_int_equal(o.behind.generations, 1000000);
	assert_int_equal(parse(&o, BASE "|--hello|off", "", &why), 0);
	assert_int_equal(o.hello_port, 0);
}

static void flags_override_the_environment(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(parse(&o, "--id|mux1|--zookeeper|[::1]:2181",
			       "FAIRLEAD_MUX_ID=other|FAIRLEAD_MUX_NO_HUGE=true|PATH=/bin|"
			       "FAIRLEAD_MUX_PORT=af_xdp:eth0 af_xdp:eth1",
			       &why),
			 0);
	assert_string_equal(o.id, "mux1");
	assert_true(o.no_huge);
	assert_int_equal(o.ports_count, 2);
	assert_string_equal(o.ports[1], "af_xdp:eth1");
}

static void every_error_names_its_option(void **state)
{
	static const struct {
		const char *arguments, *environment;
		const char *name, *value; /* the reason must contain both */
	} rows[] = {
	    {"--zookeeper|a:1|--port|p", "", "--id is missing", "allowed"},
	    {"--id|m|--port|p", "", "--zookeeper is missing", "allowed"},
	    {"--id|m|--zookeeper|a:1", "", "--port is missing", "allowed"},
	    {BASE "|--port|af_xdp:eth0", "", "--port: 'af_xdp:eth0' is given again", "once"},
	    {BASE "|--frobnicate|7", "", "'--frobnicate'", "--help"},
	    {BASE "|word", "", "'word'", "--help"},
	    {BASE "|--id|again", "", "--id", "'again'"},
	    {BASE "|--hello|on", "", "--hello: 'on'", "1..65535, off"},
	    {BASE "|--hello|0", "", "--hello: '0'", "1..65535, off"},
	    {BASE "|--hello|65536", "", "--hello: '65536'", "1..65535, off"},
	    {BASE "|--workers", "", "--workers", "no value"},
	    {BASE "|--workers|0", "", "--workers: '0'", "1..64"},
	    {BASE "|--workers|65", "", "--workers: '65'", "1..64"},
	    {BASE "|--workers|two", "", "--workers: 'two'", "1..64"},
	    {BASE "|--workers|-1", "", "--workers: '-1'", "1..64"},
	    {BASE "|--workers|99999999999999999999", "", "--workers", "1..64"},
	    {BASE "|--memory|63", "", "--memory: '63'", "64.."},
	    {BASE "|--memory|64MB", "", "--memory: '64MB'", "64.."},
	    {BASE "|--no-huge=maybe", "", "--no-huge: 'maybe'", "true, false"},
	    {BASE "|--packet-path|scalar", "", "--packet-path: 'scalar'", "auto, reference, "},
	    {BASE "|--check-paths|1000001", "", "--check-paths: '1000001'", "0..1000000"},
	    {BASE "|--check-paths|-1", "", "--check-paths: '-1'", "0..1000000"},
	    {BASE "|--pipeline|jit", "", "--pipeline: 'jit'", "auto, interpreted, compiled"},
	    {BASE "|--announce|bgp", "", "--announce: 'bgp'", "tun, none"},
	    {BASE "|--watchdog|1", "", "--watchdog: '1'", "on, off"},
	    {BASE "|--spin|1000001", "", "--spin: '1000001'", "0..1000000"},
	    {BASE "|--withdraw-wait|-1", "", "--withdraw-wait: '-1'", "0..3600"},
	    {BASE "|--check=maybe", "", "--check: 'maybe'", "true, false"},
	    {BASE "|--output|xml", "", "--output: 'xml'", "text, json"},
	    {BASE "|--drain|3601", "", "--drain: '3601'", "0..3600"},
	    {BASE "|--behind-seconds|3601", "", "--behind-seconds: '3601'", "0..3600"},
	    {BASE "|--behind-generations|x", "", "--behind-generations: 'x'", "0..1000000"},
	    {BASE "|--address|10.1.0", "", "--address: '10.1.0'", "IPv4"},
	    {BASE "|--address|0.0.0.0", "", "--address: '0.0.0.0'", "of this host"},
	    {BASE "|--address|127.0.0.1", "", "--address: '127.0.0.1'", "of this host"},
	    {BASE "|--address|239.1.1.1", "", "--address: '239.1.1.1'", "of this host"},
	    {BASE "|--address|::", "", "--address: '::'", "IPv6"},
	    {BASE "|--address|fe80::1", "", "--address: 'fe80::1'", "global IPv6"},
	    {BASE "|--address|ff02::1", "", "--address: 'ff02::1'", "global IPv6"},
	    {BASE "|--address|::ffff:10.1.0.1", "", "--address: '::ffff:10.1.0.1'", "global IPv6"},
	    {BASE "|--address|10.1.0.1|--address|10.1.0.2", "", "--address: '10.1.0.2'", "one of each"},
	    {BASE "|--tag-key|/nowhere", "", "--tag-key: '/nowhere'", "can be read"},
	    {BASE "|--tag-key|/proc/self", "", "--tag-key: '/proc/self'", "can be read"},
	    {BASE "|--http|9108", "", "--http: '9108'", "HOST:PORT"},
	    {BASE "|--http|:9108", "", "--http: ':9108'", "HOST:PORT"},
	    {BASE "|--http|a:0", "", "--http: 'a:0'", "HOST:PORT"},
	    {BASE "|--http|a:65536", "", "--http: 'a:65536'", "HOST:PORT"},
	    {BASE "|--http|::1:80", "", "--http: '::1:80'", "HOST:PORT"},
	    {BASE "|--http|unix:relative", "", "--http: 'unix:relative'", "absolute path"},
	    {BASE "|--http-open|yes", "", "--http-open: 'yes'", "on, off"},
	    {BASE "|--http-samples|all", "", "--http-samples: 'all'", "on, off"},
	    {BASE, "FAIRLEAD_MUX_HTTP_CERT=", "FAIRLEAD_MUX_HTTP_CERT: ''", "a file"},
	    {BASE "|--http-cert|/c", "", "--http-cert is given without --http-key", "both, or neither"},
	    {BASE, "FAIRLEAD_MUX_HTTP_KEY=/k", "--http-key is given without --http-cert", "both, or neither"},
	    {BASE "|--http|unix:/s|--http-cert|/c|--http-key|/k", "", "--http-cert: '/c'", "HOST:PORT"},
	    {BASE "|--zookeeper-auth|/nowhere/at/all", "", "--zookeeper-auth: '/nowhere/at/all'", "can be read"},
	    {BASE "|--state-dir|state", "", "--state-dir: 'state'", "absolute path, or none"},
	    {BASE "|--root|fairlead", "", "--root: 'fairlead'", "absolute"},
	    {BASE "|--root|/a/", "", "--root: '/a/'", "absolute"},
	    {BASE "|--root|/a//b", "", "--root: '/a//b'", "absolute"},
	    {"--id|-x|--zookeeper|a:1|--port|p", "", "--id: '-x'", "letters"},
	    {"--id|a/b|--zookeeper|a:1|--port|p", "", "--id: 'a/b'", "letters"},
	    {"--id|m|--zookeeper|a|--port|p", "", "--zookeeper: 'a'", "HOST:PORT"},
	    {"--id|m|--zookeeper|a:1,|--port|p", "", "--zookeeper: 'a:1,'", "HOST:PORT"},
	    {"--id|m|--zookeeper|a:x|--port|p", "", "--zookeeper: 'a:x'", "HOST:PORT"},
	    {"--id|m|--zookeeper|zk1:2181|--port|p", "", "--zookeeper: 'zk1:2181' is not a loopback address",
	     "or --zookeeper-clear-text on"},
	    {"--id|m|--zookeeper|127.0.0.1:1,10.1.0.5:2|--port|p", "", "--zookeeper: '10.1.0.5:2'",
	     "a loopback address"},
	    {"--id|m|--zookeeper|[2001:db8::1]:1|--port|p|--zookeeper-clear-text|off", "", "'[2001:db8::1]:1'",
	     "tunnel"},
	    {"--id|m|--port|p", "FAIRLEAD_MUX_ZOOKEEPER=zk1:1", "--zookeeper: 'zk1:1'", "loopback"},
	    {BASE "|--zookeeper-clear-text|yes", "", "--zookeeper-clear-text: 'yes'", "on, off"},
	    {BASE, "FAIRLEAD_MUX_WORKERS=0", "FAIRLEAD_MUX_WORKERS: '0'", "1..64"},
	    {BASE, "FAIRLEAD_MUX_WORKER=1", "FAIRLEAD_MUX_WORKER ", "--help"},
	    {BASE, "FAIRLEAD_MUX_no_huge=true", "FAIRLEAD_MUX_no_huge", "--help"},
	    {BASE, "FAIRLEAD_MUX_NO_HUGE=1", "FAIRLEAD_MUX_NO_HUGE: '1'", "true, false"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct options o;
		struct reason why = {{0}};

		if (parse(&o, rows[i].arguments, rows[i].environment, &why) != -EINVAL)
			fail_msg("taken: %s %s", rows[i].arguments, rows[i].environment);
		if (!strstr(why.text, rows[i].name) || !strstr(why.text, rows[i].value))
			fail_msg("%s %s: '%s' lacks '%s' or '%s'", rows[i].arguments, rows[i].environment, why.text,
				 rows[i].name, rows[i].value);
	}
}

static void too_many_ports_are_rejected(void **state)
{
	char arguments[2048] = BASE;
	struct options o;
	struct reason why;

	(void)state;
	for (int i = 1; i < OPTIONS_PORTS_MAX; i++)
		sprintf(arguments + strlen(arguments), "|--port=p%d", i);
	assert_int_equal(parse(&o, arguments, "", &why), 0);
	strcat(arguments, "|--port=p17");
	assert_int_equal(parse(&o, arguments, "", &why), -EINVAL);
	assert_non_null(strstr(why.text, "'p17'"));
}

static void help_needs_nothing_else(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(parse(&o, "--help", "", &why), 0);
	assert_true(o.help);
	assert_int_equal(parse(&o, "--version", "", &why), 0);
	assert_true(o.version);
	assert_non_null(strstr(options_usage, "--zookeeper"));
}

/* Writes a file with this mode, reads it as --tag-key, and returns the result. */
static int with_key_file(const char *text, unsigned mode, struct options *o, struct reason *why)
{
	char path[] = "/tmp/fairlead-key-XXXXXX", words[128];
	int fd = mkstemp(path), error;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	snprintf(words, sizeof(words), BASE "|--tag-key|%s", path);
	error = parse(o, words, "", why);
	unlink(path);
	return error;
}

static void the_cluster_key_is_read_from_a_file(void **state)
{
#define ZERO "000102030405060708090a0b0c0d0e0f"
#define ONE  "0102030405060708090a0b0c0d0e0f10"
	static const char *const bad[] = {
	    "",
	    "00",
	    "000102030405060708090a0b0c0d0e0g",
	    ZERO "00",
	    ZERO "\n\n",
	    "next " ONE "\n",                    /* without a current one */
	    "current " ZERO "\nnext " ZERO "\n", /* the same bit */
	    "current " ZERO "\nnext 02"
	    "02030405060708090a0b0c0d0e0f10\n",
	    "current " ZERO "\ncurrent " ONE "\n",
	    "next " ONE "\nnext " ONE "\n",
	    "current " ZERO "\nnext " ONE "\nnext " ONE "\n",
	    "current " ZERO "\nnext " ONE " \n",
	    "current " ZERO " next " ONE "\n",
	    "current  " ZERO "\n",
	    "old " ZERO "\n",
	};
	static const char *const two[] = {"current " ZERO "\nnext " ONE "\n", "next " ONE "\ncurrent " ZERO,
					  ZERO "\nnext " ONE "\n"};
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(with_key_file(ZERO "\n", 0600, &o, &why), 0);
	assert_true(o.has_tag_key);
	assert_true(o.tag_keys.current.k0 == 0x0706050403020100ULL && o.tag_keys.current.k1 == 0x0f0e0d0c0b0a0908ULL);
	for (int bit = 0; bit < 2; bit++)
		assert_memory_equal(tag_keys_of(&o.tag_keys, bit), &o.tag_keys.current, sizeof(o.tag_keys.current));
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++) {
		assert_int_equal(with_key_file(two[i], 0600, &o, &why), 0);
		assert_true(o.tag_keys.current.k0 == 0x0706050403020100ULL);
		assert_true(tag_keys_of(&o.tag_keys, false)->k0 == 0x0706050403020100ULL);
		assert_true(tag_keys_of(&o.tag_keys, true)->k0 == 0x0807060504030201ULL);
	}
	assert_int_equal(with_key_file(ZERO, 0644, &o, &why), -EINVAL);
	assert_non_null(strstr(why.text, "has mode 0644; allowed: 0600"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(with_key_file(bad[i], 0600, &o, &why), -EINVAL);
		assert_non_null(strstr(why.text, "32 hex digits"));
	}
#undef ZERO
#undef ONE
}

/* Where --http may listen without --http-open, by whether there are TLS and tokens. */
static void only_loopback_is_open(void **state)
{
	static const struct {
		const char *host, *certificate, *tokens, *refusal;
	} rows[] = {
	    {"127.0.0.1", "", "", NULL},
	    {"127.8.9.10", "", "", NULL},
	    {"::1", "", "", NULL},
	    {"::ffff:127.0.0.1", "", "", NULL},
	    {"10.1.0.11", "", "", "neither TLS nor tokens protect it; allowed: with --http-cert, --http-key and"},
	    {"0.0.0.0", "", "", "'0.0.0.0:9108' is not a loopback address"},
	    {"::", "", "", "':::9108' is not a loopback address"},
	    {"::ffff:10.1.0.11", "", "", "is not a loopback address"},
	    {"2001:db8::1", "", "", "is not a loopback address"},
	    {"10.1.0.11", "", "/t", "tokens would travel without TLS"},
	    {"10.1.0.11", "/c", "", "no token is asked for"},
	    {"10.1.0.11", "/c", "/t", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_access access = {.port = 9108};
		struct sockaddr_storage address;
		struct reason why = {""};
		socklen_t len;
		int error;

		strcpy(access.host, rows[i].host);
		strcpy(access.certificate, rows[i].certificate);
		strcpy(access.tokens, rows[i].tokens);
		error = http_access_resolve(&access, &address, &len, &why);
		assert_int_equal(error, rows[i].refusal ? -EACCES : 0);
		if (rows[i].refusal && !strstr(why.text, rows[i].refusal))
			fail_msg("%s: %s", rows[i].host, why.text);
		access.open = true;
		assert_int_equal(http_access_resolve(&access, &address, &len, &why), 0);
	}
}

/* What --check, the log and metrics call unprotected. */
static void what_does_not_protect_it_is_named(void **state)
{
	static const struct {
		const char *zookeeper, *host, *socket, *certificate, *tokens;
		bool has_key, has_login, open;
		const char *missing;
	} rows[] = {
	    {"127.0.0.1:1", "127.0.0.1", "", "", "", true, true, false, ""},
	    {"127.0.0.1:1,[::1]:2,localhost:3", "::1", "", "", "", true, true, true, ""},
	    {"127.0.0.1:1", "127.0.0.1", "", "", "", false, false, false, "tag_key zookeeper_login "},
	    {"10.1.0.5:2181", "127.0.0.1", "", "", "", true, true, false, "zookeeper_transport "},
	    {"127.0.0.1:1,zk1:2", "127.0.0.1", "", "", "", true, true, false, "zookeeper_transport "},
	    {"[2001:db8::1]:1", "127.0.0.1", "", "", "", true, true, false, "zookeeper_transport "},
	    {"127.0.0.1.example:1", "127.0.0.1", "", "", "", true, true, false, "zookeeper_transport "},
	    {"127.0.0.1:1", "0.0.0.0", "", "", "", true, true, true, "http "},
	    {"127.0.0.1:1", "mux1", "", "/c", "", true, true, true, "http "},
	    {"127.0.0.1:1", "mux1", "", "", "/t", true, true, true, "http "},
	    {"127.0.0.1:1", "0.0.0.0", "", "/c", "/t", true, true, true, ""},
	    {"127.0.0.1:1", "", "/s", "", "", true, true, true, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_access http = {.open = rows[i].open};
		char named[128] = "";
		unsigned missing;

		strcpy(http.host, rows[i].host);
		strcpy(http.socket, rows[i].socket);
		strcpy(http.certificate, rows[i].certificate);
		strcpy(http.tokens, rows[i].tokens);
		missing = protection_missing(rows[i].has_key, rows[i].has_login, rows[i].zookeeper, &http);
		for (enum protection p = 0; p < PROTECTIONS; p++)
			if (missing >> p & 1)
				strcat(strcat(named, protections[p].name), " ");
		if (strcmp(named, rows[i].missing))
			fail_msg("row %zu: %s", i, named);
	}
}

/* What a node says of where metrics are read, the outer address being 10.1.0.11. */
static void others_read_metrics_at_an_address(void **state)
{
	static const struct {
		const char *host, *certificate, *socket, *url;
	} rows[] = {
	    {"10.1.0.12", "", "", "http://10.1.0.12:9108/metrics"},
	    {"2001:db8::1", "/c", "", "https://[2001:db8::1]:9108/metrics"},
	    {"0.0.0.0", "/c", "", "https://10.1.0.11:9108/metrics"},
	    {"::", "", "", "http://10.1.0.11:9108/metrics"},
	    {"127.0.0.1", "/c", "", ""},
	    {"localhost", "", "", ""},
	    {"no such host", "", "", ""},
	    {"10.1.0.12", "", "/run/http.sock", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_access access = {.port = 9108, .open = true};
		char url[HTTP_URL_MAX];

		strcpy(access.host, rows[i].host);
		strcpy(access.certificate, rows[i].certificate);
		strcpy(access.socket, rows[i].socket);
		http_access_metrics(&access, "10.1.0.11", url);
		assert_string_equal(url, rows[i].url);
	}
}

/* The words are in config/, the paths in packet/. */
static void each_packet_path_has_its_word(void **state)
{
	char arguments[256], allowed[128] = "allowed: auto";
	struct options options;
	struct reason why;

	(void)state;
	for (unsigned i = 0; i < BURST_PATHS; i++) {
		snprintf(arguments, sizeof(arguments), BASE "|--packet-path|%s", burst_paths[i].name);
		assert_int_equal(parse(&options, arguments, "", &why), 0);
		assert_int_equal(options.packet_path, PACKET_PATH_REFERENCE + i);
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), ", %s", burst_paths[i].name);
	}
	assert_int_equal(parse(&options, BASE "|--packet-path|none", "", &why), -EINVAL);
	assert_string_equal(strstr(why.text, "allowed: "), allowed);
}

static bool hash_fails;

/* Replaces the library's. */
int gnutls_hash_fast(gnutls_digest_algorithm_t algorithm, const void *text, size_t len, void *digest)
{
	static int (*hash_fast)(gnutls_digest_algorithm_t, const void *, size_t, void *);

	if (!hash_fast)
		*(void **)&hash_fast = dlsym(RTLD_NEXT, "gnutls_hash_fast");
	return hash_fails ? GNUTLS_E_UNKNOWN_HASH_ALGORITHM : hash_fast(algorithm, text, len, digest);
}

static void a_login_without_its_hash_is_refused(void **state)
{
	static const char lines[] = "readers:the-readers-secret\nmux-mux1:the-secret-of-mux1\n";
	char path[] = "/tmp/fairlead-login-XXXXXX", arguments[256];
	int fd = mkstemp(path);
	struct options options;
	struct reason why = {""};

	(void)state;
	assert_int_equal(write(fd, lines, strlen(lines)), strlen(lines));
	close(fd);
	snprintf(arguments, sizeof(arguments), BASE "|--zookeeper-auth|%s", path);
	assert_int_equal(parse(&options, arguments, "", &why), 0);
	assert_string_equal(options.login.digests[LOGIN_READERS], "readers:/CSwW+nfTXR7Hv1hx4h32t3LLe4=");
	assert_string_equal(options.login.digests[LOGIN_OWN], "mux-mux1:qKFW+ta9+LkrH5k1FOJ0wXWY2Hc=");
	hash_fails = true;
	assert_int_equal(parse(&options, arguments, "", &why), -EINVAL);
	hash_fails = false;
	assert_memory_equal(why.text, "--zookeeper-auth: '/tmp/fairlead-login-", 39);
	assert_non_null(strstr(why.text, "SHA-1"));
	assert_non_null(strstr(why.text, "; allowed: where GnuTLS has SHA-1"));
	assert_int_equal(options.login.count, 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults_are_as_documented),
	    cmocka_unit_test(every_flag_is_accepted),
	    cmocka_unit_test(flags_override_the_environment),
	    cmocka_unit_test(every_error_names_its_option),
	    cmocka_unit_test(too_many_ports_are_rejected),
	    cmocka_unit_test(help_needs_nothing_else),
	    cmocka_unit_test(the_cluster_key_is_read_from_a_file),
	    cmocka_unit_test(only_loopback_is_open),
	    cmocka_unit_test(what_does_not_protect_it_is_named),
	    cmocka_unit_test(others_read_metrics_at_an_address),
	    cmocka_unit_test(each_packet_path_has_its_word),
	    cmocka_unit_test(a_login_without_its_hash_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
