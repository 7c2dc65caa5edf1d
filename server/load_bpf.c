// SPDX-License-Identifier: Apache-2.0
/*
 * The load of an attached XDP program: elements of two of its maps. find() asks the kernel which program is attached, 10
 * microseconds, since the maps of one that was detached would still take what is written into them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "load_form.h"
#include "opener.h"

struct load_of_bpf {
	struct load load;
	char interface[IF_NAMESIZE];
	struct opener *opener;
	int settings, states; /* the program's maps; -1: none */
	__u32 program; /* the id of the program that was opened last, whether or not it can be used; 0 for none */
	int err;       /* of opening it */
};

static struct load *open_interface(const char *interface)
{
	struct load_of_bpf *load = calloc(1, sizeof(*load));

	if (!load)
		return NULL;
	snprintf(load->interface, sizeof(load->interface), "%s", interface);
	load->settings = load->states = -1;
	load->opener = opener_start(interface);
	if (load->opener)
		return &load->load;
	free(load);
	return NULL;
}

static void maps_close(struct load_of_bpf *load)
{
	if (load->settings >= 0)
		close(load->settings);
	if (load->states >= 0)
		close(load->states);
	load->settings = load->states = -1;
}

/* Opens the program that is attached now, whose id this is. */
static int program_open(struct load_of_bpf *load, __u32 program)
{
	maps_close(load);
	load->program = program;
	load->err = opener_maps(load->opener, &load->settings, &load->states);
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
		maps_close(load);
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

	return is_found(load) ? bpf_map_update_elem(load->settings, &slot, setting, BPF_ANY) : -ENOENT;
}

static int read_state(struct load *open, fl_u16 service, struct fl_load_state *state)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;
	__u32 slot = service;

	return is_found(load) ? bpf_map_lookup_elem(load->states, &slot, state) : -ENOENT;
}

static int is_attached(struct load *open)
{
	return opener_is_attached(((struct load_of_bpf *)open)->opener);
}

static void close_interface(struct load *open)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;

	maps_close(load);
	opener_stop(load->opener);
	free(load);
}

const struct load_form load_bpf = {
    .open = open_interface,
    .find = find,
    .set = set,
    .read = read_state,
    .is_attached = is_attached,
    .shed = opener_shed,
    .close = close_interface,
};
