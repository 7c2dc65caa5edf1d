// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "form.h"
#include "host.h"
#include "refusal.h"
#include "running.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from meson"
#endif

static int check_arguments(const struct arguments *arguments)
{
	return arguments->interface ? 0 : refusal_print("--interface", "", "the name of an interface");
}

static int check_config(const struct config *config)
{
	if (config->program.ipip_service)
		return refusal_print("--ipip-service", "given",
				     "only with --form module: the XDP program receives GUE and segment routing");
	if (config->program.mangle)
		return refusal_print("--mangle", "given",
				     "only with --form module: the XDP program sees no replies, to write the VIP back");
	return 0;
}

static int attach(const struct arguments *arguments, struct config *config)
{
	struct running running;
	int err;

	config->program.redirect = host_needs_redirect(arguments->interface);
	err = running_open(&running, arguments->interface);
	if (!err)
		err = host_check(config, running.interface);
	if (!err)
		err = program_attach(&running, config, arguments->mode);
	running_close(&running);
	return err;
}

static int detach(const struct arguments *arguments)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = program_detach(&running);
	running_close(&running);
	return err;
}

static struct document_peers peers_read(const struct running *running)
{
	struct document_peers peers = document_peers_begin();
	struct fl_peer_key *previous = NULL;
	struct fl_peer peer;

	while (!bpf_map_get_next_key(running->maps[RUNNING_PEERS], previous, &peer.prefix)) {
		if (!bpf_map_lookup_elem(running->maps[RUNNING_PEERS], &peer.prefix, &peer.roles))
			document_peers_add(&peers, &peer);
		previous = &peer.prefix;
	}
	return peers;
}

static json_t *counters_read(const struct running *running)
{
	int cpus = libbpf_num_possible_cpus();
	fl_u64 *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
	fl_u64 sums[FL_COUNTERS] = {0};
	__u32 slot;
	int cpu;

	for (slot = 0; values && slot < FL_COUNTERS; slot++) {
		if (bpf_map_lookup_elem(running->maps[RUNNING_COUNTERS], &slot, values)) {
			free(values);
			return NULL;
		}
		for (cpu = 0; cpu < cpus; cpu++)
			sums[slot] += values[cpu];
	}
	free(values);
	return cpus > 0 ? document_counters(sums) : NULL;
}

/* Adds the load of one service. */
static void load_read_into(const struct running *running, json_t *services, __u32 slot)
{
	struct fl_load_setting setting;
	struct fl_load_state state;

	if (!bpf_map_lookup_elem(running->maps[RUNNING_LOAD_SETTINGS], &slot, &setting) &&
	    !bpf_map_lookup_elem(running->maps[RUNNING_LOAD_STATES], &slot, &state))
		document_load_add(services, slot, &setting, &state);
}

/* Services whose generation has been seen. NULL: they cannot be read. */
static json_t *services_read(const struct running *running)
{
	static __u32 slots[FL_SERVER_SERVICES], generations[FL_SERVER_SERVICES];
	__u32 position, count = FL_SERVER_SERVICES, i;
	json_t *services;

	if (bpf_map_lookup_batch(running->maps[RUNNING_GENERATIONS], NULL, &position, slots, generations, &count,
				 NULL) &&
	    errno != ENOENT) /* that says that these were the last */
		return NULL;
	services = json_object();
	for (i = 0; i < count; i++) {
		if (!generations[i])
			continue;
		document_service_add(services, slots[i], generations[i]);
		load_read_into(running, services, slots[i]);
	}
	return services;
}

static json_t *document_read(const struct running *running)
{
	struct document_parts parts = {
	    .form = "bpf",
	    .version = FAIRLEAD_VERSION,
	    .interface = running->interface,
	    .config = document_config(&running->config, peers_read(running), running->mode),
	    .counters = counters_read(running),
	    .services = services_read(running),
	    .quiet_left = running_quiet_left(running),
	    .flows = -1,
	};

	return document_make(&parts);
}

static int show(const struct arguments *arguments, json_t **document)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = running_check(&running);
	if (!err) {
		*document = document_read(&running);
		err = *document ? 0 : running_fail(&running, "cannot read the program's maps", -EIO);
	}
	running_close(&running);
	return err;
}

static int forget(const struct arguments *arguments, fl_u32 *generation)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = running_check(&running);
	if (!err) {
		err = running_forget(&running, (fl_u16)arguments->service, generation);
		if (err)
			running_fail(&running, "cannot change the program's maps", err);
	}
	running_close(&running);
	return err;
}

const struct form form_bpf = {
    .word = "bpf",
    .check_arguments = check_arguments,
    .check_config = check_config,
    .attach = attach,
    .detach = detach,
    .show = show,
    .forget = forget,
    .load = &load_bpf,
};
