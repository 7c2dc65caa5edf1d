/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A balancer with as many tables as peer_packet needs to know of Katran's, so that the benchmark peers can be tested
 * without it. It is ours, and does no more than what peer_packet checks: count, look up a flow, and send the packet to a server
 * by IPIP or GUE. VIP_BYTES other than 20 and SENT other than XDP_TX make a program that peer_packet must refuse.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#ifndef VIP_BYTES
#define VIP_BYTES 20
#endif

#ifndef SENT
#define SENT XDP_TX
#endif

#ifdef GUE_ENCAP
enum { HEADER = 28, PROTOCOL = 17, GUE_PORT = 6080 };
#else
enum { HEADER = 20, PROTOCOL = 4, GUE_PORT = 0 };
#endif

enum { SERVICES = 8, RING = 128, SERVERS = 512, FRAME = 64, NO_CACHE = 2 };

struct bytes8 {
	__u8 of[8];
};

struct bytes20 {
	__u8 of[20];
};

struct vip {
	__u8 of[VIP_BYTES];
};

struct flow {
	__u32 source[4], destination[4];
	__u16 ports[2];
	__u32 protocol;
};

struct choice {
	__u64 server, used;
};

struct count {
	__u64 first, second;
};

#define TABLE(NAME, TYPE, KEY, VALUE, ENTRIES)                                                                         \
	struct {                                                                                                       \
		__uint(type, TYPE);                                                                                    \
		__type(key, KEY);                                                                                      \
		__type(value, VALUE);                                                                                  \
		__uint(max_entries, ENTRIES);                                                                          \
	} NAME SEC(".maps")

TABLE(vip_map, BPF_MAP_TYPE_HASH, struct vip, struct bytes8, SERVICES);
TABLE(ch_rings, BPF_MAP_TYPE_ARRAY, __u32, __u32, RING);
TABLE(reals, BPF_MAP_TYPE_ARRAY, __u32, struct bytes20, SERVERS);
TABLE(ctl_array, BPF_MAP_TYPE_ARRAY, __u32, struct bytes8, 1);
TABLE(stats, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct count, 2 * SERVICES);
#ifdef GUE_ENCAP
TABLE(pckt_srcs, BPF_MAP_TYPE_ARRAY, __u32, struct bytes20, 2);
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 128);
	__array(
	    values, struct {
		    __uint(type, BPF_MAP_TYPE_LRU_HASH);
		    __uint(key_size, sizeof(struct flow));
		    __uint(value_size, sizeof(struct choice));
		    __uint(max_entries, 64);
	    });
} lru_mapping SEC(".maps");

/* The server of a flow, remembered unless the service wants none, or too many are new. 0: none. */
static __always_inline __u32 choose(const struct flow *flow, __u32 flags, int is_syn, struct count *packets)
{
	__u32 processor = bpf_get_smp_processor_id(), entry = flow->source[0] % RING, key = SERVICES + 2, *server;
	void *cache = bpf_map_lookup_elem(&lru_mapping, &processor);
	struct choice *known = cache && !is_syn && !(flags & NO_CACHE) ? bpf_map_lookup_elem(cache, flow) : NULL;
	struct count *news = bpf_map_lookup_elem(&stats, &key);
	struct choice chosen = {};

	if (known)
		return (__u32)known->server;
	packets->second++;
	server = bpf_map_lookup_elem(&ch_rings, &entry);
	if (!server || !news)
		return 0;
	chosen.server = *server;
	if (cache && !(flags & NO_CACHE) && !news->first)
		bpf_map_update_elem(cache, flow, &chosen, BPF_ANY);
	return *server;
}

SEC("xdp")
int stand_in(struct xdp_md *context)
{
	__u8 *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	__u32 key = SERVICES, server, *flags;
	struct bytes20 *address;
	struct flow flow = {};
	struct count *packets;
	struct vip vip = {};

	if (data + FRAME > end)
		return XDP_PASS;
	__builtin_memcpy(flow.source, data + 26, 4);
	__builtin_memcpy(flow.destination, data + 30, 4);
	__builtin_memcpy(flow.ports, data + 34, 4);
	__builtin_memcpy(vip.of, data + 30, 4);
	__builtin_memcpy(vip.of + 16, data + 36, 2);
	vip.of[18] = data[23];
	flags = bpf_map_lookup_elem(&vip_map, &vip);
	packets = bpf_map_lookup_elem(&stats, &key);
	if (!flags || !packets)
		return XDP_PASS;
	packets->first++;
	server = choose(&flow, *flags, data[47] & 2, packets);
	address = server ? bpf_map_lookup_elem(&reals, &server) : NULL;
	if (!address || bpf_xdp_adjust_head(context, -HEADER))
		return XDP_DROP;
	data = (void *)(long)context->data;
	end = (void *)(long)context->data_end;
	if (data + 14 + HEADER > end)
		return XDP_DROP;
	__builtin_memset(data + 14, 0, HEADER);
	data[14] = 0x45;
	data[23] = PROTOCOL;
	__builtin_memcpy(data + 30, address->of, 4);
#ifdef GUE_ENCAP
	*(__u16 *)(data + 36) = bpf_htons(GUE_PORT);
#endif
	return SENT;
}

char program_license[] SEC("license") = "GPL";
