// SPDX-License-Identifier: Apache-2.0
/*
 * The load of an attached XDP program: elements of two of its maps. find() asks the kernel which program is attached, 10
 * microseconds, since the maps of one that was detached would still take what is written into them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "load_form.h"
#include "running.h"

struct load_of_bpf {
	struct load load;
	char interface[IF_NAMESIZE];
	struct running running;
	__u32 program; /* the id of the program that was opened last, whether or not it can be used; 0 for none */
	int err;       /* of opening it */
};

static struct load *open_interface(const char *interface)
{
	struct load_of_bpf *load = calloc(1, sizeof(*load));

	if (!load)
		return NULL;
	snprintf(load->interface, sizeof(load->interface), "%s", interface);
	load->running = running_none();
	return &load->load;
}

/* Opens the program that is attached now, whose id this is. */
static int program_open(struct load_of_bpf *load, __u32 program)
{
	running_close(&load->running);
	load->program = program;
	load->err = running_open(&load->running, load->interface);
	if (!load->err)
		load->err = running_check(&load->running);
	if (!load->err && (load->running.load_settings < 0 || load->running.load_states < 0)) {
		fprintf(stderr,
			"fairlead-server: %s: the attached program is of a version that knows no load; attach again\n",
			load->interface);
		load->err = -EPROTO;
	}
	return load->err;
}

/* Makes sure that the maps are those of the attached program. */
static int find(struct load *open)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;
	unsigned int ifindex = if_nametoindex(load->interface);
	__u32 program = 0;
	int err = ifindex ? bpf_xdp_query_id((int)ifindex, 0, &program) : -ENODEV;

	if (err)
		return err;
	if (!program) {
		running_close(&load->running);
		load->program = 0;
		return -ENOENT;
	}
	return program == load->program ? load->err : program_open(load, program);
}

static bool is_found(const struct load_of_bpf *load)
{
	return load->program && !load->err;
}

static int set(struct load *open, fl_u16 service, const struct fl_load_setting *setting)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;
	__u32 slot = service;

	return is_found(load) ? bpf_map_update_elem(load->running.load_settings, &slot, setting, BPF_ANY) : -ENOENT;
}

static int read(struct load *open, fl_u16 service, struct fl_load_state *state)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;
	__u32 slot = service;

	return is_found(load) ? bpf_map_lookup_elem(load->running.load_states, &slot, state) : -ENOENT;
}

static void close_interface(struct load *open)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;

	running_close(&load->running);
	free(load);
}

const struct load_form load_bpf = {
    .open = open_interface, .find = find, .set = set, .read = read, .close = close_interface};
