/* SPDX-License-Identifier: Apache-2.0 */
/* fairlead-mux: wires the parts together and waits for a signal; see control.h and worker.h for what runs. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include "control.h"
#include "worker.h"

extern char **environ;

struct program {
	struct options options;
	struct ports ports;
	struct neighbours *neighbours;
	struct tables *tables;
	struct counters *counters;
	struct worker *workers[OPTIONS_WORKERS_MAX];
	unsigned workers_count;
	struct control *control;
};

static int outer_address(const struct program *p, uint8_t address[4], struct why *why)
{
	int error = 0;

	if (p->options.has_address)
		memcpy(address, p->options.address, 4);
	else
		error = port_address(&p->ports.port[0], address);
	if (error)
		return why_refuse(why, error,
				  "--address is missing and %s has none; allowed: an IPv4 address of this mux",
				  p->ports.port[0].arguments);
	return 0;
}

static int build(struct program *p, struct why *why)
{
	struct vip_listener listener = {.context = &p->ports, .changed = ports_vips};
	struct next_hops hops;

	p->neighbours = neighbours_new(&p->ports, p->options.has_address ? p->options.address : NULL, why);
	if (!p->neighbours)
		return -errno;
	hops = neighbours_hops(p->neighbours);
	p->tables = tables_new(p->options.workers, &hops);
	p->counters = counters_new(p->options.workers);
	if (!p->tables || !p->counters)
		return why_refuse(why, -ENOMEM, "no memory for tables and counters");
	tables_listen(p->tables, &listener);
	return 0;
}

static int start(struct program *p, struct why *why)
{
	struct mux mux = {.options = &p->options,
			  .ports = &p->ports,
			  .tables = p->tables,
			  .neighbours = p->neighbours,
			  .counters = p->counters};
	int error = outer_address(p, mux.address, why);

	while (!error && p->workers_count < p->options.workers) {
		error = worker_start(&p->workers[p->workers_count], p->workers_count, p->tables, &p->ports, p->counters,
				     why);
		if (!error)
			p->workers_count++;
	}
	return error ? error : control_start(&mux, &p->control, why);
}

/* In the reverse order of build and start: VIPs are withdrawn first. */
static void stop(struct program *p)
{
	if (p->control)
		control_stop(p->control);
	while (p->workers_count)
		worker_stop(p->workers[--p->workers_count]);
	tables_free(p->tables);
	counters_free(p->counters);
	neighbours_free(p->neighbours);
	ports_close(&p->ports);
	rte_eal_cleanup();
}

static int serve(struct program *p, struct why *why)
{
	sigset_t signals;
	int error, received;

	/* before any thread starts, so that all inherit it and only sigwait sees them */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);

	error = ports_environment(&p->options, why);
	if (error)
		return error;
	error = ports_open(&p->ports, &p->options, why);
	if (!error)
		error = build(p, why);
	if (!error)
		error = start(p, why);
	if (!error)
		sigwait(&signals, &received);
	stop(p);
	return error;
}

int main(int argc, char **argv)
{
	static struct program program;
	struct why why = {{0}};
	int error;

	if (argc > 1 && !strcmp(argv[1], "explain"))
		return explain_main(argc - 2, argv + 2);
	error = options_parse(&program.options, argc - 1, argv + 1, environ, &why);
	if (error) {
		fprintf(stderr, "fairlead-mux: %s\n", why.text);
		return 2;
	}
	if (program.options.help) {
		fputs(options_usage, stdout);
		return 0;
	}
	if (serve(&program, &why)) {
		fprintf(stderr, "fairlead-mux: %s\n", why.text);
		return 1;
	}
	return 0;
}
