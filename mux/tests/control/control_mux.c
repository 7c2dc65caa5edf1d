/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux without packets: the control side and the tables as in fairlead-mux, no ports, no workers, and every next hop
 * known. For test_follow.py.
 *
 *	control_mux ID ZOOKEEPER HTTP-PORT ANNOUNCE STATE-DIR|none [LOGIN-FILE]
 *
 * HTTP, HTTP_CERT, HTTP_KEY, HTTP_TOKENS in the environment are the flags of fairlead-mux. Prints "ready" once it answers HTTP; SIGTERM ends it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "threads/control_thread.h"

static void hop(void *context, const struct fl_address *address, struct next_hop *out)
{
	(void)context;
	(void)address;
	*out = (struct next_hop){.resolved = true};
}

static int set_http(struct http_access *access, struct reason *why)
{
	static const struct {
		const char *name, *flag;
	} variables[] = {
	    {"HTTP", "http"}, {"HTTP_CERT", "http-cert"}, {"HTTP_KEY", "http-key"}, {"HTTP_TOKENS", "http-tokens"}};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i].name);

		if (value && http_access_set(access, variables[i].flag, variables[i].name, value, why))
			return -1;
	}
	return http_access_check(access, why);
}

int main(int argc, char **argv)
{
	static struct options options = {.workers = 1, .root = "/fairlead", .http = {.host = "127.0.0.1"}};
	static struct ports ports;
	struct next_hops hops = {.lookup = hop};
	struct mux mux = {.options = &options, .ports = &ports, .address = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	struct control_thread *control;
	struct reason why = {""};
	sigset_t signals;
	int received;

	if (argc != 6 && argc != 7)
		return 2;
	if (argc == 7 && login_read("LOGIN-FILE", argv[6], &options.login, &why)) {
		fprintf(stderr, "control_mux: %s\n", why.text);
		return 1;
	}
	snprintf(options.id, sizeof(options.id), "%s", argv[1]);
	snprintf(options.zookeeper, sizeof(options.zookeeper), "%s", argv[2]);
	if (strcmp(argv[5], "none"))
		snprintf(options.state_dir, sizeof(options.state_dir), "%s", argv[5]);
	options.http.port = (uint16_t)atoi(argv[3]);
	options.hello_port = options.http.port; /* of UDP: of this process alone, as several share an address */
	if (set_http(&options.http, &why)) {
		fprintf(stderr, "control_mux: %s\n", why.text);
		return 1;
	}
	options.announce = strcmp(argv[4], "tun") ? ANNOUNCE_NONE : ANNOUNCE_TUN;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	mux.tables = tables_new(options.workers, &hops);
	mux.counters = counters_new(options.workers);
	if (!mux.tables || !mux.counters || control_thread_start(&mux, &control, &why)) {
		fprintf(stderr, "control_mux: %s\n", why.text);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	sigwait(&signals, &received);
	control_thread_stop(control);
	tables_free(mux.tables);
	counters_free(mux.counters);
	return 0;
}
