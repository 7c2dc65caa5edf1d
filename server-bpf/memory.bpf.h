/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The server's state: configuration, peers, the highest generation of each service, the last move of each bucket, and
 * the counters.
 *
 * memory is a hash without preallocation: it takes about 100 bytes per bucket that moved here (100 MB per million), and
 * none while empty. It is not an LRU, which would evict a bucket that is still chained while expired ones stay. An
 * entry is removed when its window is over and a mux that is not late sends a packet of its bucket without MOVED. If the
 * bucket moved on before, no such packet arrives and the entry stays: held connections of its former owner may need it.
 * A full map costs little, as a packet's own MOVED is still followed, and is counted.
 *
 * Races between CPUs. An update of memory replaces the whole element under RCU: a reader sees the old or the new one,
 * never a mix. If two CPUs learn two moves of one bucket at once, the older one may be kept; and if one forgets a move
 * while the other learns the next one, that may be forgotten, as a hash has no compare-and-delete. The next packet with
 * the newer MOVED corrects both. A generation is only ever raised, by compare-and-swap.
 */
#ifndef FAIRLEAD_MEMORY_BPF_H
#define FAIRLEAD_MEMORY_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <fairlead/list_tag.h>
#include <fairlead/notice.h>
#include "clock.h"
#include <fairlead/decide.h>
#include "flow.h"
#include "server.h"

enum memory_numbers {
	NANOSECONDS = 1000000000,
	GENERATION_TRIES = 8, /* a try fails only if another CPU has just raised it */
	SENDERS = 16,
};

/* Filled in by the command before the program is loaded. */
const volatile struct fl_server_config config = {0};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FL_SERVER_MEMORY_CAPACITY);
	__type(key, struct fl_memory_key);
	__type(value, struct fl_bucket_memory);
} memory SEC(".maps");

/* How often something was stored into memory (absent.bpf.h). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} memory_version SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FL_SERVER_SERVICES);
	__type(key, __u32);
	__type(value, __u32);
} generations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FL_SERVER_COUNTERS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/* Trusted senders: muxes, and servers that chain. Not taken over by the next program; the value is unused. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FL_SERVER_PEERS_MAX);
	__type(key, struct fl_peer_key);
	__type(value, __u8);
} peers SEC(".maps");

/* A sender that `peers` has: it is looked up once, as nothing changes that map while the program is attached. */
struct sender {
	struct fl_address address;
	__u32 is_trusted;
};

/* What is known of a packet with a list (list.bpf.h). */
struct list_work {
	struct fl_address source; /* of the outer header */
	__u32 at;                 /* where its GUE base begins, from the packet's begin */
	__u32 len;                /* from there to its end, as the outer header says */
	__u8 class;               /* DSCP and ECN of the outer header */
	bool is_ipv6;             /* the same */
	struct fl_decide_in in;
	struct fl_decide_out out;
	struct fl_list_message tagged;
};

/*
 * Too large for the program's stack of 512 bytes. A packet is processed to its end on one CPU with softirqs disabled:
 * it has the CPU's slot to itself.
 */
struct scratch {
	struct fl_verdict_in in;
	struct fl_verdict_out out;
	struct fl_notice notice;
	__u32 notice_at;  /* where its GUE base begins, from the packet's begin */
	__u32 notice_len; /* from there to its end */
	struct fl_tag_message tagged;
	struct bpf_fib_lookup fib;
	struct fl_flow flow;
	struct bpf_sock_tuple tuple;
	struct fl_address source; /* of the packet that is chained */
	/* These outlast the packet. */
	__u64 tick;    /* of the kernel's clock, at which `seconds` was read */
	__u32 seconds; /* Unix seconds */
	struct sender senders[SENDERS];
	struct list_work list;
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
 * Both are read word by word: clang 14 treats a copy of a whole struct from config, volatile or not, as a copy of the
 * zeros in this file, and then optimises away every comparison with our address.
 */
static __always_inline struct fl_address address_read(const volatile struct fl_address *address)
{
	const volatile __u32 *word = (const volatile __u32 *)address->bytes;
	__u32 copy[4] = {word[0], word[1], word[2], word[3]};
	struct fl_address read;

	__builtin_memcpy(&read, copy, sizeof(read));
	return read;
}

static __always_inline struct fl_siphash_key tag_key_read(void)
{
	return (struct fl_siphash_key){.k0 = config.tag_key.k0, .k1 = config.tag_key.k1};
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

static __always_inline void clock_observe(__u32 ahead)
{
	__u32 slot = FL_SERVER_SLOT_AHEAD_MAX;
	__u64 *max;

	if (!ahead)
		return;
	if (fl_clock_is_wrong(ahead))
		count(FL_COUNTER_MOVE_AHEAD);
	max = bpf_map_lookup_elem(&counters, &slot);
	if (max && *max < ahead)
		*max = ahead;
}

static __always_inline bool peer_is_trusted(struct scratch *scratch, const struct fl_address *source)
{
	struct sender *sender = &scratch->senders[source->bytes[15] % SENDERS];
	struct fl_peer_key key;

	if (sender->is_trusted && fl_address_equal(&sender->address, source))
		return true;
	key = (struct fl_peer_key){.prefix_len = 128, .address = *source};
	if (!bpf_map_lookup_elem(&peers, &key))
		return false;
	sender->address = *source;
	sender->is_trusted = true;
	return true;
}

/*
 * Unix seconds at the last tick of the kernel's clock, as the module reads them: so a second begins up to 10 ms late, by
 * CONFIG_HZ. To read the clock takes 30 ns, so it is read once in a tick. CLOCK_TAI follows every step of CLOCK_REALTIME,
 * at an offset that the command reads when it attaches: 0, or the leap seconds once an NTP daemon has set them. `show`
 * warns if that offset has changed.
 */
static __always_inline __u32 clock_seconds(struct scratch *scratch)
{
	__u64 tick = bpf_jiffies64();

	if (scratch->tick != tick) {
		scratch->seconds = (__u32)((bpf_ktime_get_tai_ns() - config.clock_offset) / NANOSECONDS);
		scratch->tick = tick;
	}
	return scratch->seconds;
}

static __always_inline __u32 *generation_of(__u16 service)
{
	__u32 slot = service;

	return bpf_map_lookup_elem(&generations, &slot);
}

static __always_inline void generation_raise(__u32 *seen, __u32 to)
{
	__u32 is = *(volatile __u32 *)seen;
	int i;

	for (i = 0; i < GENERATION_TRIES && is < to; i++)
		is = __sync_val_compare_and_swap(seen, is, to);
}

static __always_inline __u64 *memory_version_of(void)
{
	__u32 slot = 0;

	return bpf_map_lookup_elem(&memory_version, &slot);
}

/* After the element is there, for all processors: an atomic addition whose result is used is a barrier. */
static __always_inline void memory_version_raise(__u64 *version)
{
	__u64 before = __sync_fetch_and_add(version, 1);

	__asm__ volatile("" : : "r"(before));
}

static __always_inline void memory_store(const struct fl_memory_key *key, const struct fl_bucket_memory *value)
{
	__u64 *version = memory_version_of();

	if (bpf_map_update_elem(&memory, key, value, BPF_ANY)) {
		count(FL_COUNTER_LEARN_FAILED);
		return;
	}
	count(FL_COUNTER_LEARNED);
	if (version)
		memory_version_raise(version);
}

static __always_inline void memory_forget(const struct fl_memory_key *key)
{
	bpf_map_delete_elem(&memory, key);
}

#endif
