/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_eal.h>

#include "preflight/preflight.h"
#include "observe/explain.h"
#include "observe/sampler.h"
#include "packet/burst.h"
#include "threads/control_thread.h"
#include "threads/drain.h"
#include "threads/health.h"
#include "threads/watchdog.h"
#include "threads/worker.h"

extern char **environ;

struct program {
	const struct mux_kind *kind;
	struct options options;
	struct ports ports;
	struct front *front; /* NULL: none */
	struct worker *workers[OPTIONS_WORKERS_MAX];
	struct rte_ring *rings[OPTIONS_WORKERS_MAX];
	struct beat beats[OPTIONS_WORKERS_MAX];
	unsigned workers_count;
	struct control_thread *control;
	struct mux mux; /* what main hands to the other threads' parts */
	struct preflight_thread preflight;
};

/* Sets the outer sources: --address, else the first port's addresses; at least one is needed. */
static int outer_addresses(struct program *p, struct reason *why)
{
	const struct port *port = &p->ports.port[0];

	p->mux.address = p->options.address;
	p->mux.address6 = p->options.address6;
	if (fl_address_is_none(&p->mux.address) && port_address(port, AF_INET, &p->mux.address))
		p->mux.address = (struct fl_address){{0}};
	if (fl_address_is_none(&p->mux.address6) && port_address(port, AF_INET6, &p->mux.address6))
		p->mux.address6 = (struct fl_address){{0}};
	if (fl_address_is_none(&p->mux.address) && fl_address_is_none(&p->mux.address6))
		return reason_set(why, -EADDRNOTAVAIL,
				  "--address is missing and %s has none; allowed: an IPv4 or IPv6 address of this mux",
				  port->arguments);
	return 0;
}

static int build(struct program *p, struct reason *why)
{
	struct vip_listener listener = {.context = &p->ports, .changed = ports_vips};
	bool has_ipv4 = !fl_address_is_none(&p->mux.address);
	struct next_hops hops;

	p->mux.neighbours = neighbours_new(&p->ports, &p->options.address, &p->options.address6, why);
	if (!p->mux.neighbours)
		return -errno;
	hops = neighbours_hops(p->mux.neighbours);
	p->mux.tables = tables_new(p->options.workers, &hops);
	p->mux.counters = counters_new(p->options.workers);
	if (!p->mux.tables || !p->mux.counters)
		return reason_set(why, -ENOMEM, "no memory for tables and counters");
	if (tables_set_self(p->mux.tables, has_ipv4 ? &p->mux.address : &p->mux.address6,
			    has_ipv4 ? &p->mux.address6 : &p->mux.address,
			    p->options.has_tag_key ? &p->options.tag_keys : NULL))
		return reason_set(why, -ENOMEM, "no memory for tables");
	p->ports.self = p->mux.address;
	p->ports.self6 = p->mux.address6;
	p->mux.tables->options = &p->options;
	tables_listen(p->mux.tables, &listener);
	p->mux.sampler = sampler_new(p->options.workers, p->mux.tables, why);
	return p->mux.sampler ? 0 : -ENOMEM;
}

/* The path that is asked for, if this processor can. */
static int choose_path(enum packet_path asked, struct reason *why)
{
	const int path = asked == PACKET_PATH_AUTO ? (int)burst_path : (int)asked - PACKET_PATH_REFERENCE;
	char allowed[64] = "auto";

	for (int i = 0; i < BURST_PATHS; i++)
		if (burst_paths[i].has_cpu()) {
			strcat(allowed, ", ");
			strcat(allowed, burst_paths[i].name);
		}
	if (!burst_paths[path].has_cpu())
		return reason_set(why, -EINVAL, "--packet-path: this processor can't do '%s'; allowed: %s",
				  burst_paths[path].name, allowed);
	burst_path = (enum burst_path)path;
	return 0;
}

static int start(struct program *p, struct reason *why)
{
	struct worker_place place = {.tables = p->mux.tables,
				     .ports = &p->ports,
				     .counters = p->mux.counters,
				     .tag_key = p->options.has_tag_key ? &p->options.tag_keys.current : NULL,
				     .workers = p->options.workers,
				     .options = &p->options,
				     .rings = p->rings,
				     .sampler = p->mux.sampler,
				     .front = p->front,
				     .beats = p->beats};
	int error;

	error = choose_path(p->options.packet_path, why);
	if (error)
		return error;
	fprintf(stderr, "mux event=packet_path path=%s\n", burst_paths[burst_path].name);
	error = worker_rings(p->rings, p->options.workers, why);

	while (!error && p->workers_count < p->options.workers) {
		error = worker_start(&p->workers[p->workers_count], p->workers_count, &place, why);
		if (!error)
			p->workers_count++;
	}
	return error ? error : control_thread_start(&p->mux, &p->control, why);
}

/* In the reverse order of build and start, so VIPs are withdrawn first. */
static void stop(struct program *p)
{
	if (p->control)
		control_thread_stop(p->control);
	while (p->workers_count)
		if (!worker_stop(p->workers[--p->workers_count]))
			health_end("a worker hangs, and the mux is to stop");
	if (p->front)
		p->kind->close(p->front);
	sampler_free(p->mux.sampler);
	tables_free(p->mux.tables);
	counters_free(p->mux.counters);
	neighbours_free(p->mux.neighbours);
	ports_close(&p->ports);
	rte_eal_cleanup();
}

static int serve(struct program *p, struct reason *why)
{
	sigset_t signals;
	int error, received;

	p->mux.kind = p->kind->name;
	p->mux.serves = p->kind->serves;
	p->mux.options = &p->options;
	p->mux.ports = &p->ports;
	p->mux.beats = p->beats;
	/* before any thread starts, so that all inherit it and only sigwait sees them */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);

	error = p->options.watchdog ? watchdog_start(why) : 0;
	if (!error)
		error = preflight_before_start(&p->options, why);
	if (!error)
		error = ports_environment(&p->options, why);
	if (error)
		return error;
	error = ports_open(&p->ports, &p->options, why);
	if (!error)
		error = preflight_opened(&p->options, &p->ports, why);
	if (!error)
		error = outer_addresses(p, why);
	if (!error)
		error = build(p, why);
	if (!error && p->kind->open)
		error = p->kind->open(&p->front, &p->mux, why);
	if (p->front)
		p->mux.pipeline = p->front->mode;
	if (!error) {
		preflight_zookeeper_begin(&p->preflight, &p->options);
		error = start(p, why);
	}
	if (!error && !sigwait(&signals, &received)) {
		error = control_thread_refusal(p->control, why);
		if (!error)
			drain_run(p->control, &p->mux, &signals, received);
	}
	stop(p);
	preflight_zookeeper_end(&p->preflight);
	if (!error)
		fprintf(stderr, "mux event=stopped\n");
	return error;
}

int program_main(const struct mux_kind *kind, int argc, char **argv)
{
	static struct program program;
	struct reason why = {{0}};
	int error;

	program.kind = kind;
	if (argc > 1 && !strcmp(argv[1], "explain"))
		return explain_main(argc - 2, argv + 2);
	error = options_parse(&program.options, argc - 1, argv + 1, environ, &why);
	if (!error && !program.options.help && !program.options.version && kind->check)
		error = kind->check(&program.options, &why);
	if (error) {
		fprintf(stderr, "%s: %s\n", kind->program, why.text);
		return 2;
	}
	if (program.options.help) {
		printf("%susage: %s --id NAME --zookeeper HOST:PORT,... --port PORT [--port PORT ...] [options]\n"
		       "       %s explain --http HOST:PORT SERVICE PROTO SRC:PORT DST:PORT\n\n%s",
		       kind->about, kind->program, kind->program, options_usage);
		return 0;
	}
	if (program.options.version) {
		printf("%s %s\n", kind->program, FAIRLEAD_VERSION);
		return 0;
	}
	if (program.options.check)
		return preflight_main(&program.options);
	if (serve(&program, &why)) {
		fprintf(stderr, "%s: %s\n", kind->program, why.text);
		return 1;
	}
	return 0;
}
