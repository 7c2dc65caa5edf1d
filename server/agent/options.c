// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "commands.h"
#include "arguments.h"
#include "flags.h"
#include "form.h"
#include "page.h"
#include "refusal.h"

const char agent_help[] =
    "\n"
    "       fairlead-server agent --controller URL[,URL...] --token-file FILE --address IP[,IP]\n"
    "                             [--mangle] [--ca-file FILE] [--client-cert FILE --client-key FILE] [--no-events]\n"
    "                             [--busy SOURCE] [--busy-interval-ms N] [--interface NAME | --form module]\n"
    "                             [--controller-clear-text on|off]\n"
    "\n"
    "Counts the TCP connections of the services that this server serves, and reports them to the controllers, until\n"
    "it is stopped. Needs CAP_BPF and CAP_PERFMON to follow connections by events.\n"
    "\n"
    "  --controller   https, or http at a loopback address; after a failure the next one is asked\n"
    "  --controller-clear-text   on: http at other addresses too, and the token travels in clear text; default off\n"
    "  --token-file   a token of role server that names ADDRESS; mode 0640 or narrower\n"
    "  --address      this server's addresses, as in the rings of its services\n"
    "  --mangle       applications listen on ADDRESS and not on the VIP, as with --mangle of attach\n"
    "  --ca-file      certificates of controllers to trust in place of the system's\n"
    "  --client-cert, --client-key   PEM files, in place of a token or beside it\n"
    "  --no-events    do not follow connections by eBPF; list all of them before each report\n"
    "  --interface    interface of the XDP program: the agent reports whether it is attached, and tells it how busy\n"
    "                 the server is (steering hunt)\n"
    "  --form         bpf (default) or module: the same for the kernel module, without --interface\n"
    "  --busy-interval-ms   between readings of how busy the server is: 10 to 1000, default 25\n"
    "  --busy         where these come from:\n"
    "                   connections    (default) connections that have received data and not sent any since\n"
    "                   nginx=URL      stub_status: reading and writing\n"
    "                   apache=URL     server-status?auto: workers in the states R, W, D, L or G of its scoreboard\n"
    "                   psi            per cent of the time in which a task waited for a processor; needs dynamic\n"
    "                   command=PATH   runs PATH, which prints a number a line\n"
    "                   accept-queue   connections that wait to be accepted; useful only if there are as many\n"
    "                                  workers as processors\n";

static const char controllers_allowed[] =
    "URLs without a path, such as https://10.1.0.5:8080,https://10.1.0.6:8080, at most 16";

/* Whether it names a host, and no more. */
static bool url_is_right(const char *text)
{
	CURLU *url = curl_url();
	char *path = NULL, *part = NULL;
	bool is_right = url && page_url_is_right(text) && !curl_url_set(url, CURLUPART_URL, text, 0) &&
			!curl_url_get(url, CURLUPART_PATH, &path, 0) && !strcmp(path, "/") &&
			curl_url_get(url, CURLUPART_QUERY, &part, 0) && curl_url_get(url, CURLUPART_FRAGMENT, &part, 0);

	curl_free(path);
	curl_free(part);
	curl_url_cleanup(url);
	return is_right;
}

static int read_controllers(void *state, const char *list)
{
	struct options *options = state;
	char *copy = strdup(list), *rest = copy, *one;
	bool is_right = copy != NULL;

	while (is_right && (one = strsep(&rest, ","))) {
		size_t len = strlen(one);

		if (len && one[len - 1] == '/')
			one[len - 1] = '\0';
		is_right = options->controller_count < OPTIONS_CONTROLLERS_MAX && url_is_right(one);
		if (is_right)
			options->controllers[options->controller_count++] = strdup(one);
	}
	free(copy);
	return is_right ? 0 : refusal_print("--controller", list, controllers_allowed);
}

/* Whether all that is sent there stays on this host, or is encrypted. Names other than localhost are not looked up. */
static bool url_is_private(const char *text)
{
	CURLU *url = curl_url();
	char *scheme = NULL, *host = NULL;
	struct in_addr ipv4;
	bool is_private = url && !curl_url_set(url, CURLUPART_URL, text, 0) &&
			  !curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) &&
			  !curl_url_get(url, CURLUPART_HOST, &host, 0);

	if (is_private && strcmp(scheme, "https")) {
		if (inet_pton(AF_INET, host, &ipv4) == 1)
			is_private = ntohl(ipv4.s_addr) >> 24 == 127;
		else
			is_private = !strcmp(host, "[::1]") || !strcasecmp(host, "localhost");
	}
	curl_free(scheme);
	curl_free(host);
	curl_url_cleanup(url);
	return is_private;
}

static int read_clear_text(void *state, const char *text)
{
	struct options *options = state;

	options->clear_text = !strcmp(text, "on");
	if (!options->clear_text && strcmp(text, "off"))
		return refusal_print("--controller-clear-text", text, "on, off");
	return 0;
}

/* A client's certificate needs https anyhow, and its key stays here. */
static int check_clear_text(const struct options *options)
{
	for (unsigned i = 0; options->token_file && !options->clear_text && i < options->controller_count; i++)
		if (!url_is_private(options->controllers[i]))
			return refusal_print("--controller", options->controllers[i],
					     "https; http at a loopback address; or --controller-clear-text on, with "
					     "which others on the way can read the token");
	return 0;
}

static int read_addresses(void *state, const char *list)
{
	struct options *options = state;

	return config_selves_set("--address", list, &options->mangle.ipv4, &options->mangle.ipv6);
}

static int read_interface(void *state, const char *text)
{
	if (!*text || strlen(text) >= IF_NAMESIZE)
		return refusal_print("--interface", text, "a name of 1 to 15 characters");
	((struct options *)state)->readings.interface = text;
	return 0;
}

static int read_source(void *state, const char *text)
{
	return source_choose(text, &((struct options *)state)->readings.source);
}

static int read_form(void *state, const char *text)
{
	return arguments_form(text, &((struct options *)state)->readings.form);
}

/* Without --interface no program can be told anything. */
static int check_form(struct options *options)
{
	struct readings_options *readings = &options->readings;

	readings->no_programs = options->no_events;
	if (readings->form == &form_module && readings->interface)
		return refusal_print("--interface", readings->interface, "only with --form bpf");
	if (readings->form == &form_bpf && !readings->interface)
		readings->form = NULL;
	return 0;
}

static int check(const struct options *options)
{
	if (!options->controller_count)
		return refusal_print("--controller", "", controllers_allowed);
	if (fl_address_is_none(&options->mangle.ipv4) && fl_address_is_none(&options->mangle.ipv6))
		return refusal_print("--address", "", config_selves_allowed);
	if (!options->token_file && !options->client_cert)
		return refusal_print("--token-file", "", "a file with a token of role server, or --client-cert");
	if (!options->client_cert != !options->client_key)
		return refusal_print("--client-cert", options->client_cert ? options->client_cert : "",
				     "only together with --client-key");
	return check_clear_text(options);
}

#define AT(member) .at = offsetof(struct options, member)

int options_parse(struct options *options, int argc, char **argv)
{
	static const struct flag flags[] = {
	    {"controller", 'c', FLAG_READ, .read = read_controllers},
	    {"controller-clear-text", 'x', FLAG_READ, .read = read_clear_text},
	    {"token-file", 't', FLAG_TEXT, AT(token_file)},
	    {"address", 'a', FLAG_READ, .read = read_addresses},
	    {"mangle", 'm', FLAG_ON, AT(mangle.enabled)},
	    {"ca-file", 'C', FLAG_TEXT, AT(ca_file)},
	    {"client-cert", 'e', FLAG_TEXT, AT(client_cert)},
	    {"client-key", 'k', FLAG_TEXT, AT(client_key)},
	    {"no-events", 'n', FLAG_ON, AT(no_events)},
	    {"busy", 'b', FLAG_READ, .read = read_source},
	    {"busy-interval-ms", 'B', FLAG_NUMBER, AT(readings.interval_ms), "a whole number from 10 to 1000",
	     READINGS_MS_MIN, READINGS_MS_MAX},
	    {"form", 'f', FLAG_READ, .read = read_form},
	    {"interface", 'i', FLAG_READ, .read = read_interface},
	    {0},
	};
	int err;

	*options = (struct options){.readings = {.interval_ms = READINGS_MS, .form = &form_bpf}};
	source_choose("connections", &options->readings.source);
	err = flags_parse(flags, NULL, options, argc, argv);
	if (!err)
		err = check_form(options);
	return err ? err : check(options);
}

void options_free(struct options *options)
{
	for (unsigned i = 0; i < options->controller_count; i++)
		free(options->controllers[i]);
}

/* systemd gives its credentials by an access list, which shows as the group's bit. */
int options_read_token(const char *path, char token[OPTIONS_TOKEN_MAX])
{
	static const struct keys_secret secret = {0640, OPTIONS_TOKEN_MAX - 1,
						  "a file with one token of at most 1,022 characters"};
	size_t len, i;
	char *text = keys_secret_read("--token-file", path, &secret, &len);

	if (!text)
		return -EINVAL;
	if (len && text[len - 1] == '\n')
		text[--len] = '\0';
	for (i = 0; i < len && text[i] > ' ' && text[i] <= '~'; i++)
		;
	if (len && i == len)
		memcpy(token, text, len + 1);
	explicit_bzero(text, len);
	free(text);
	return len && i == len ? 0 : refusal_print("--token-file", path, secret.allowed);
}
