// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts how connections fare, by local address and port: refusals, resets, retransmissions, round-trip times. The agent
 * takes the counts out of the map before each report, and finds each end's service.
 *
 * Nothing here runs for each packet. What is common, a connection that closes, costs one look-up and three additions;
 * its numbers come from the socket. A connection that sends something again also counts what it has sent until then, so
 * that those that last long are not missed; a storage of its own remembers what was counted of it.
 *
 * Only from Linux 6.10 on, which has enum sk_rst_reason, does tcp_send_reset report a reset that no socket sends. Earlier
 * kernels report packets that are dropped because no socket takes them. Programs that read a packet are raw tracepoints: their arguments may be
 * NULL, which the verifier of some kernels does not believe.
 */
#include "signals.bpf.h"
#include "socket.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inet_sock {
	__be16 inet_sport;
};

struct tcp_sock {
	__u32 srtt_us; /* times 8 */
	__u32 segs_out;
	__u32 total_retrans;
};

struct request_sock {
	struct sock_common __req_common;
};

struct net_device {
	possible_net_t nd_net;
};

struct sk_buff {
	struct net_device *dev;
	__u16 transport_header;
	__u16 network_header;
	unsigned char *head;
};

#pragma clang attribute pop

enum skb_drop_reason {
	SKB_DROP_REASON_NO_SOCKET = 3, /* the kernel's own number is read from its BTF */
};

enum {
	IPV4_PROTOCOL = 9,
	IPV4_DESTINATION = 16,
	IPV6_NEXT_HEADER = 6,
	IPV6_DESTINATION = 24,
	TCP_DESTINATION = 2,
	TCP_FLAGS = 13,
	TCP_SYN = 2,
	TCP_RST = 4,
	TCP_ACK = 16,
};

const volatile __u32 netns; /* inode of the agent's network namespace */

/* Those of the program that follows connections (events.bpf.c). */
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AGENT_ENDS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct agent_end);
	__type(value, struct agent_counts);
} ends SEC(".maps");

/* What was counted of a connection. */
struct counted {
	__u32 segments, retransmitted;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct counted);
} connections SEC(".maps");

static __always_inline int is_served(const struct agent_end *end)
{
	__u32 word = end->port / 64;
	const __u64 *bits = bpf_map_lookup_elem(&ports, &word);

	return bits && *bits >> end->port % 64 & 1 && bpf_map_lookup_elem(&addresses, &end->address);
}

/* NULL: no memory, or too many ends. */
static __always_inline struct agent_counts *counts_of(const struct agent_end *end)
{
	struct agent_counts *found = bpf_map_lookup_elem(&ends, end), none = {};

	if (found)
		return found;
	bpf_map_update_elem(&ends, end, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&ends, end);
}

static __always_inline void add(struct agent_counts *counts, enum agent_signal signal, __u64 number)
{
	__sync_fetch_and_add(&counts->counts[signal], number);
}

static __always_inline int is_own(const struct sock_common *common)
{
	return BPF_CORE_READ(common, skc_net.net, ns.inum) == netns;
}

/* The local address of a socket of any kind; its port is the caller's to set. False: it is no Internet socket. */
static __always_inline int address_of(const struct sock_common *common, struct agent_end *end)
{
	__u16 family = BPF_CORE_READ(common, skc_family);

	if (family == FAMILY_IPV4) {
		end->address.words[2] = bpf_htonl(0xffff);
		end->address.words[3] = BPF_CORE_READ(common, skc_rcv_saddr);
	} else if (family == FAMILY_IPV6) {
		BPF_CORE_READ_INTO(&end->address, common, skc_v6_rcv_saddr);
	}
	return family == FAMILY_IPV4 || family == FAMILY_IPV6;
}

/* The counts of a full socket; NULL: it is none of a service, or there is no memory. */
static __always_inline struct agent_counts *counts_of_socket(const struct sock *sk)
{
	struct agent_end end = {};

	if (!is_own(&sk->__sk_common))
		return NULL;
	end.port = bpf_ntohs(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
	if (!address_of(&sk->__sk_common, &end) || !is_served(&end))
		return NULL;
	return counts_of(&end);
}

/* Of a packet that was received: where to, and the TCP header's flags. False: it is not TCP. */
static __always_inline int packet_read(const struct sk_buff *skb, struct agent_end *end, __u8 *flags)
{
	const unsigned char *head = BPF_CORE_READ(skb, head);
	const unsigned char *ip = head + BPF_CORE_READ(skb, network_header);
	const unsigned char *tcp = head + BPF_CORE_READ(skb, transport_header);
	__u8 version = 0, protocol = 0;
	__be16 port = 0;

	bpf_probe_read_kernel(&version, sizeof(version), ip);
	if (version >> 4 == 4) {
		bpf_probe_read_kernel(&protocol, sizeof(protocol), ip + IPV4_PROTOCOL);
		end->address.words[2] = bpf_htonl(0xffff);
		bpf_probe_read_kernel(&end->address.words[3], sizeof(__be32), ip + IPV4_DESTINATION);
	} else if (version >> 4 == 6) {
		bpf_probe_read_kernel(&protocol, sizeof(protocol), ip + IPV6_NEXT_HEADER);
		bpf_probe_read_kernel(&end->address, sizeof(end->address), ip + IPV6_DESTINATION);
	}
	bpf_probe_read_kernel(&port, sizeof(port), tcp + TCP_DESTINATION);
	bpf_probe_read_kernel(flags, sizeof(*flags), tcp + TCP_FLAGS);
	end->port = bpf_ntohs(port);
	return protocol == PROTOCOL_TCP;
}

/* A reset answers the packet. */
static __always_inline void count_answered(const struct sk_buff *skb)
{
	struct agent_counts *counts;
	struct agent_end end = {};
	__u8 flags = 0;

	if (!packet_read(skb, &end, &flags) || flags & TCP_RST || !is_served(&end))
		return;
	counts = counts_of(&end);
	if (counts)
		add(counts, (flags & (TCP_SYN | TCP_ACK)) == TCP_SYN ? SIGNAL_REFUSED : SIGNAL_RESETS_SENT, 1);
}

static __always_inline int is_own_device(const struct sk_buff *skb)
{
	return BPF_CORE_READ(skb, dev, nd_net.net, ns.inum) == netns;
}

/* sk may be the socket that listens, an entry in TIME_WAIT, or NULL. Without skb a connection's own socket sends it. */
SEC("raw_tp/tcp_send_reset")
int send_reset(struct bpf_raw_tracepoint_args *context)
{
	const struct sock *sk = (const void *)context->args[0];
	const struct sk_buff *skb = (const void *)context->args[1];
	struct agent_counts *counts;

	if (skb) {
		if (sk ? is_own(&sk->__sk_common) : is_own_device(skb))
			count_answered(skb);
	} else if (sk) {
		counts = counts_of_socket(sk);
		if (counts)
			add(counts, SIGNAL_RESETS_SENT, 1);
	}
	return 0;
}

/* Where tcp_send_reset does not tell of resets without a socket. */
SEC("raw_tp/kfree_skb")
int no_socket(struct bpf_raw_tracepoint_args *context)
{
	const struct sk_buff *skb = (const void *)context->args[0];

	if (context->args[2] == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_NO_SOCKET) &&
	    is_own_device(skb))
		count_answered(skb);
	return 0;
}

SEC("raw_tp/tcp_receive_reset")
int receive_reset(struct bpf_raw_tracepoint_args *context)
{
	struct agent_counts *counts = counts_of_socket((const void *)context->args[0]);

	if (counts)
		add(counts, SIGNAL_RESETS_RECEIVED, 1);
	return 0;
}

/* Counts what the connection has sent beyond what was counted of it. */
static __always_inline void count_sent(const struct sock *sk, struct agent_counts *counts, struct counted *counted)
{
	const struct tcp_sock *tcp = (const void *)sk;
	__u32 segments = BPF_CORE_READ(tcp, segs_out), retransmitted = BPF_CORE_READ(tcp, total_retrans);

	add(counts, SIGNAL_SEGMENTS, segments - (counted ? counted->segments : 0));
	if (retransmitted != (counted ? counted->retransmitted : 0))
		add(counts, SIGNAL_RETRANSMITTED, retransmitted - (counted ? counted->retransmitted : 0));
	if (counted)
		*counted = (struct counted){segments, retransmitted};
}

/* Without memory for what was counted of it, it counts when it closes. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(retransmit, struct sock *sk)
{
	struct agent_counts *counts = counts_of_socket(sk);
	struct counted *counted;

	if (!counts)
		return 0;
	counted = bpf_sk_storage_get(&connections, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (counted)
		count_sent(sk, counts, counted);
	return 0;
}

SEC("raw_tp/tcp_retransmit_synack")
int retransmit_synack(struct bpf_raw_tracepoint_args *context)
{
	const struct sock_common *common = &((const struct request_sock *)context->args[1])->__req_common;
	struct agent_counts *counts;
	struct agent_end end = {};

	if (!is_own(common))
		return 0;
	end.port = BPF_CORE_READ(common, skc_num);
	if (!address_of(common, &end) || !is_served(&end))
		return 0;
	counts = counts_of(&end);
	if (!counts)
		return 0;
	add(counts, SIGNAL_SEGMENTS, 1);
	add(counts, SIGNAL_RETRANSMITTED, 1);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(close, struct sock *sk, int old, int new)
{
	struct agent_counts *counts;
	__u32 rtt;

	if (new != STATE_CLOSE || old == STATE_LISTEN || sk->sk_protocol != PROTOCOL_TCP)
		return 0;
	counts = counts_of_socket(sk);
	if (!counts)
		return 0;
	count_sent(sk, counts, bpf_sk_storage_get(&connections, sk, NULL, 0));
	rtt = BPF_CORE_READ((const struct tcp_sock *)sk, srtt_us) >> 3;
	if (rtt) {
		add(counts, SIGNAL_RTT_SAMPLES, 1);
		add(counts, SIGNAL_RTT_MICROSECONDS, rtt);
	}
	return 0;
}

char program_license[] SEC("license") = "GPL";
