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

#include "encap.bpf.h"
#include "load.h"
#include "memory.bpf.h"
#include "sockets.bpf.h"

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

/* Whether another server would take the SYN as well, and can be reached: then it is offered, and may be refused. */
static __always_inline bool load_is_offered(const struct fl_steer *steer, __u32 encap)
{
	bool to_ipv6 = !fl_address_is_ipv4(&steer->second.owner);
	struct fl_address source = config_self(to_ipv6);

	return config.chaining && steer->flags & FL_STEER_SECOND && !fl_verdict_is_unspecified(&steer->second.owner) &&
	       !fl_address_is_none(&source) && encap_reaches((enum fl_encap_number)encap, to_ipv6);
}

/* Whether the service has a setting, without which load_ask() need not be called. */
static __always_inline bool load_is_set(__u16 service)
{
	__u32 slot = service;
	struct fl_load_setting *setting = bpf_map_lookup_elem(&load_settings, &slot);

	return setting && FL_LOAD_READ(setting->until_ns);
}

/*
 * The class of a SYN: FL_PACKET_REFUSED or FL_PACKET_SYN. Counts one that is taken if the service has a setting; what
 * becomes of a refused one is counted by load_count(). is_offered: another server would take it as well.
 */
static __always_inline int load_ask_of(struct xdp_md *ctx, struct scratch *scratch, __u16 service, bool is_offered)
{
	__u32 slot = service;
	struct fl_load_setting *setting = bpf_map_lookup_elem(&load_settings, &slot);
	struct fl_load_state *state;

	if (!setting || !FL_LOAD_READ(setting->until_ns))
		return FL_PACKET_SYN;
	state = bpf_map_lookup_elem(&load_states, &slot);
	if (!state)
		return FL_PACKET_SYN; /* never: the array has a slot for each 16-bit id */
	if (!is_offered) {
		fl_load_count_unasked(setting, state);
		return FL_PACKET_SYN;
	}
	if (!fl_load_is_busy(setting, state)) {
		fl_load_count_taken(state);
		return FL_PACKET_SYN;
	}
	if (!fl_load_is_armed(setting, bpf_ktime_get_coarse_ns()) ||
	    sockets_has_own(ctx, &scratch->flow, &scratch->tuple))
		return FL_PACKET_SYN;
	return FL_PACKET_REFUSED;
}

/* The same by the steer header in scratch->in. */
static __attribute__((noinline)) int load_ask(struct xdp_md *ctx, struct scratch *scratch, __u32 encap)
{
	const struct fl_steer *steer = &scratch->in.steer;

	return load_ask_of(ctx, scratch, steer->service, load_is_offered(steer, encap));
}

enum load_end {
	LOAD_PASSED, /* to the second bucket's owner, which may be this server */
	LOAD_OWN,    /* and then taken, as this server owns the second bucket, too */
	LOAD_TAKEN,  /* as it could not be sent on */
};

/* Counts what became of a SYN that was refused. */
static __always_inline void load_count(__u16 service, enum load_end end)
{
	__u32 slot = service;
	struct fl_load_setting *setting = bpf_map_lookup_elem(&load_settings, &slot);
	struct fl_load_state *state = bpf_map_lookup_elem(&load_states, &slot);

	if (!setting || !state)
		return; /* never: the arrays have a slot for each 16-bit id */
	if (end == LOAD_PASSED)
		fl_load_count_passed(state);
	else if (end == LOAD_OWN)
		fl_load_count_unasked(setting, state);
	else
		fl_load_count_taken(state);
}

#endif
