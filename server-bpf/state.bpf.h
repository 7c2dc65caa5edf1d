/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The server's state: configuration, keys, peers, the highest generation of each service, how long nothing is reset, and
 * the counters. The generation is all that packets teach. It is only ever raised, by compare-and-swap.
 */
#ifndef FAIRLEAD_STATE_BPF_H
#define FAIRLEAD_STATE_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <fairlead/encap.h>
#include <fairlead/list_tag.h>
#include "counters.h"
#include <fairlead/decide.h>
#include "flood.h"
#include "flow.h"
#include "learn.h"
#include "server.h"

enum state_numbers {
	NANOSECONDS = 1000000000,
	SENDERS = 16,
};

/* Has what follows read again from memory what it needs: the verifier then has one state there, not one for each way. */
#define VERIFIER_FORGET() __asm__ volatile("" : : : "memory")

/* Filled in by the command before the program is loaded. */
const volatile struct fl_server_config config = {0};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FL_SERVER_SERVICES);
	__type(key, __u32);
	__type(value, __u32);
} generations SEC(".maps");

/* Until when this server resets nothing, in nanoseconds of CLOCK_MONOTONIC; 0: it is not quiet. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} quiet SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FL_SERVER_COUNTERS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/* Of those that may send, enum fl_peer_roles. Not taken over by the next program, as the next two are not. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FL_SERVER_PEERS_MAX);
	__type(key, struct fl_peer_key);
	__type(value, __u32);
} peers SEC(".maps");

/* Of each service's packets; all zero: this server has none of it. The command leaves one slot where none are needed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FL_SERVER_SERVICES);
	__type(key, __u32);
	__type(value, struct fl_key_pair);
} service_keys SEC(".maps");

/* Of notices to our IPv4 and to our IPv6 address. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct fl_key_pair);
} notice_keys SEC(".maps");

/* A sender that `peers` has: it is looked up once, as nothing changes that map while the program is attached. */
struct sender {
	struct fl_address address;
	__u32 roles; /* 0: none is known here */
};

/* What the functions behind the first one need of the packet. */
struct arrival {
	struct fl_address source; /* of the outer header */
	__u32 at;                 /* where what is behind the outer IP header begins, from the packet's begin */
	__u32 len;                /* from there to its end, as the outer header says */
	__be32 flow;              /* see struct outer */
	enum fl_encap_number encap;
	__u8 class; /* DSCP and ECN */
	bool is_ipv6;
};

/*
 * Too large for the program's stack of 512 bytes. A packet is processed to its end on one CPU with softirqs disabled:
 * it has the CPU's slot to itself.
 */
struct scratch {
	struct fl_decide_in in;
	struct fl_decide_out out;
	struct arrival arrival;
	struct fl_list_message message;
	struct bpf_fib_lookup fib;
	struct fl_flow flow;
	struct bpf_sock_tuple tuple;
	struct fl_address source;       /* of the packet that is sent on */
	struct sender senders[SENDERS]; /* these outlast the packet */
	struct fl_flood flood;          /* the same */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_of_this_cpu(void)
{
	__u32 slot = 0;

	return bpf_map_lookup_elem(&scratches, &slot);
}

/*
 * Read word by word: clang 14 treats a copy of a whole struct from config, volatile or not, as a copy of the zeros in
 * this file, and then optimises away every comparison with our address.
 */
static __always_inline struct fl_address address_read(const volatile struct fl_address *address)
{
	const volatile __u32 *word = (const volatile __u32 *)address->bytes;
	__u32 copy[4] = {word[0], word[1], word[2], word[3]};
	struct fl_address read;

	__builtin_memcpy(&read, copy, sizeof(read));
	return read;
}

/* Our own address of one family; none if we have none. */
static __always_inline struct fl_address config_self(bool is_ipv6)
{
	return address_read(is_ipv6 ? &config.self6 : &config.self);
}

static __always_inline void count(enum fl_counter counter)
{
	__u32 slot = counter;
	__u64 *value = bpf_map_lookup_elem(&counters, &slot);

	if (value)
		(*value)++;
}

/* enum fl_peer_roles of an address; 0: it is no peer. */
static __always_inline __u32 peer_find(const struct fl_address *address)
{
	struct fl_peer_key key = {.prefix_len = 128, .address = *address};
	const __u32 *roles = bpf_map_lookup_elem(&peers, &key);

	return roles ? *roles : 0;
}

/* The same of a sender. */
static __always_inline __u32 sender_roles(struct scratch *scratch, const struct fl_address *source)
{
	struct sender *sender = &scratch->senders[source->bytes[15] % SENDERS];
	__u32 roles;

	if (sender->roles && fl_address_equal(&sender->address, source))
		return sender->roles;
	roles = peer_find(source);
	if (roles) {
		sender->address = *source;
		sender->roles = roles;
	}
	return roles;
}

/*
 * By the clock's last tick: up to 10 ms longer. The first packet that finds it over says so, and the next ones need no
 * clock; unless the command has begun another meanwhile.
 */
static __always_inline bool is_quiet(void)
{
	__u32 slot = 0;
	__u64 *end = bpf_map_lookup_elem(&quiet, &slot), until = end ? *(volatile __u64 *)end : 0;

	if (!until)
		return false;
	if (bpf_ktime_get_coarse_ns() < until)
		return true;
	__sync_val_compare_and_swap(end, until, 0);
	return false;
}

/* NULL: never, the array has a slot for each 16-bit id. */
static __always_inline __u32 *generation_of(__u16 service)
{
	__u32 slot = service;

	return bpf_map_lookup_elem(&generations, &slot);
}

/* The Unix time for learn.h; TAI is near enough. */
static __always_inline __u32 fl_form_seconds(void)
{
	return (__u32)(bpf_ktime_get_tai_ns() / NANOSECONDS);
}

#endif
