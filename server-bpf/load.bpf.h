/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether this server takes a new connection (load.h), asked for each SYN. Only one that it would rather not take costs
 * a lookup of its socket, as a client sends a SYN again whose half-open connection is here already; and a look at the
 * clock, which takes 12 to 30 ns, longer than the rest of the decision. A setting that has ended therefore refuses
 * nothing, but the next SYNs are counted as taken, up to its threshold. Its end is compared with the clock's last tick,
 * and comes up to 10 ms late.
 */
#ifndef FAIRLEAD_LOAD_BPF_H
#define FAIRLEAD_LOAD_BPF_H

#include "load.h"
#include "sockets.bpf.h"
#include "state.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FL_SERVER_SERVICES);
	__type(key, __u32);
	__type(value, struct fl_load_setting);
} load_settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FL_SERVER_SERVICES);
	__type(key, __u32);
	__type(value, struct fl_load_state);
} load_states SEC(".maps");

/* Whether the service has a setting, without which load_ask() need not be called. */
static __always_inline bool load_is_set(__u16 service)
{
	__u32 slot = service;
	struct fl_load_setting *setting = bpf_map_lookup_elem(&load_settings, &slot);

	return setting && FL_LOAD_READ(setting->until_ns);
}

/* The class of a SYN by its service's load. Counts one that is taken; what becomes of a refused one counts load_count(). */
static __always_inline enum fl_packet_class load_ask(struct xdp_md *ctx, struct scratch *scratch)
{
	const struct fl_list *list = &scratch->in.list;
	__u32 slot = list->service;
	struct fl_load_setting *setting = bpf_map_lookup_elem(&load_settings, &slot);
	struct fl_load_state *state;

	if (!setting || !FL_LOAD_READ(setting->until_ns))
		return FL_PACKET_SYN;
	state = bpf_map_lookup_elem(&load_states, &slot);
	if (!state)
		return FL_PACKET_SYN; /* never: the array has a slot for each 16-bit id */
	if (!list->left) {
		fl_load_count_unasked(setting, state);
		return FL_PACKET_SYN;
	}
	if (!fl_load_is_busy(setting, state)) {
		fl_load_count_taken(state);
		return FL_PACKET_SYN;
	}
	if (!fl_load_is_armed(setting, bpf_ktime_get_coarse_ns()) ||
	    sockets_has(ctx, &scratch->flow, &scratch->tuple, false))
		return FL_PACKET_SYN;
	return FL_PACKET_REFUSED;
}

/*
 * The class of a SYN: FL_PACKET_REFUSED if other servers may take it, and this one is busy or has no listener for it. The
 * latter opens nothing here, and another owner may have the listener already.
 */
static __attribute__((noinline)) int syn_ask(struct xdp_md *ctx, struct scratch *scratch)
{
	if (scratch->in.list.left && !sockets_has(ctx, &scratch->flow, &scratch->tuple, true))
		return FL_PACKET_REFUSED;
	return load_ask(ctx, scratch);
}

/* Counts what became of a SYN that was refused, if its service has a setting. */
static __always_inline void load_count(const struct fl_decide_in *in, bool is_passed)
{
	__u32 slot = in->list.service;
	struct fl_load_state *state;

	if (in->packet != FL_PACKET_REFUSED || !load_is_set(in->list.service))
		return;
	state = bpf_map_lookup_elem(&load_states, &slot);
	if (state && is_passed)
		fl_load_count_passed(state);
	else if (state)
		fl_load_count_taken(state);
}

#endif
