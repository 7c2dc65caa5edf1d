// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells the agent of TCP connections that open and close at the VIPs of this host's services.
 *
 * The tracepoint sees every socket of the machine. A socket is passed over unless it is in the agent's network namespace
 * and its local address and port are among those of services. The reader is woken when the ring is a quarter full;
 * before a report it reads what there is. What finds no room is counted, and the agent then lists all sockets again.
 */
#include "events.bpf.h"
#include "socket.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inet_sock {
	__be16 inet_sport;
};

#pragma clang attribute pop

const volatile __u32 netns; /* inode of the agent's network namespace */
__u64 lost;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, AGENT_RING_BYTES);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AGENT_ADDRESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct agent_address);
	__type(value, __u8);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536 / 64);
	__type(key, __u32);
	__type(value, __u64);
} ports SEC(".maps");

static __always_inline int port_is_served(__u16 port)
{
	__u32 word = port / 64;
	const __u64 *bits = bpf_map_lookup_elem(&ports, &word);

	return bits && *bits >> port % 64 & 1;
}

static __always_inline void mapped(struct agent_address *address, __be32 ipv4)
{
	address->words[0] = 0;
	address->words[1] = 0;
	address->words[2] = bpf_htonl(0xffff);
	address->words[3] = ipv4;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(set_state, const struct sock *sk, int old, int new)
{
	struct agent_address local, remote;
	struct agent_event *event;
	__be16 sport;
	__u16 port;

	if (old == STATE_LISTEN || (new != STATE_ESTABLISHED &&new != STATE_CLOSE &&old != STATE_SYN_RECV))
		return 0;
	if (sk->sk_protocol != PROTOCOL_TCP || sk->__sk_common.skc_net.net->ns.inum != netns)
		return 0;
	sport = BPF_CORE_READ((const struct inet_sock *)sk, inet_sport);
	port = bpf_ntohs(sport);
	if (!port_is_served(port))
		return 0;
	if (sk->__sk_common.skc_family == FAMILY_IPV4) {
		mapped(&local, sk->__sk_common.skc_rcv_saddr);
		mapped(&remote, sk->__sk_common.skc_daddr);
	} else if (sk->__sk_common.skc_family == FAMILY_IPV6) {
		BPF_CORE_READ_INTO(&local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&remote, sk, __sk_common.skc_v6_daddr);
	} else {
		return 0;
	}
	if (!bpf_map_lookup_elem(&addresses, &local))
		return 0;
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	event->local = local;
	event->remote = remote;
	event->local_port = port;
	event->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	event->closed = new == STATE_CLOSE;
	event->ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(event, bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= AGENT_RING_BYTES / 4
				      ? BPF_RB_FORCE_WAKEUP
				      : BPF_RB_NO_WAKEUP);
	return 0;
}

char program_license[] SEC("license") = "GPL";
