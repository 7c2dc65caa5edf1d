// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists the connections in work at the services' ports: those that have received something, with nothing sent since.
 *
 * A list of all sockets walks the kernel's table, which has a quarter of a million chains on a small machine and takes 2
 * ms even if it is empty. So connections are marked when they open, by a storage of their own, and only what has a mark
 * is listed: 0.1 ms for a thousand. What was open before, and what found no memory, a walk marks now and then.
 *
 * Which came last, received or sent, is told by two times in ticks of the kernel's clock, 4 ms on Debian. Within one
 * tick there may have been a request and its answer, or an answer and the next request, which its client sends at once.
 * The connection's numbers tell which:
 *
 *	something is not acknowledged		an answer came last: a client asks again only when it has all of it
 *	all is, by a segment behind the data	an answer came last, and the client had nothing to say to it
 *	all is, by the last segment with data	a request came last
 *
 * snd_wl1 is the number of the segment that acknowledged last. Behind a client's FIN it is unknown; then the answer is
 * taken to have been the last. So it is, until the next answer, if the answer before was sent twice for nothing within
 * that tick: the client's word on that comes behind its request.
 */
#include "socket.bpf.h"
#include "work.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inet_connection_sock {
	struct {
		__u32 lrcvtime;
	} icsk_ack;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_wl1;
	__u32 lsndtime;
	__u64 bytes_received;
	__u64 bytes_sent;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct sock_common *sk_common;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
};

#pragma clang attribute pop

const volatile __u32 netns; /* inode of the agent's network namespace */
__u64 ports[65536 / 64];    /* those of services, a bit each */

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u8);
} marks SEC(".maps");

static __always_inline int port_is_served(__u16 port)
{
	return ports[port / 64] >> port % 64 & 1;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(mark_new, struct sock *sk, int old, int new)
{
	if (new == STATE_ESTABLISHED && sk->sk_protocol == PROTOCOL_TCP &&
	    sk->__sk_common.skc_net.net->ns.inum == netns &&port_is_served(sk->__sk_common.skc_num))
		bpf_sk_storage_get(&marks, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	return 0;
}

/* For each socket of the network namespace of whoever reads the list, which is empty. */
SEC("iter/tcp")
int mark_all(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tcp;

	if (!common || (common->skc_state != STATE_ESTABLISHED && common->skc_state != STATE_CLOSE_WAIT) ||
	    !port_is_served(common->skc_num))
		return 0;
	tcp = bpf_skc_to_tcp_sock(common);
	if (tcp)
		bpf_sk_storage_get(&marks, tcp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	return 0;
}

static __always_inline int is_in_work(const struct tcp_sock *tcp, int client_is_done)
{
	__u32 received = tcp->inet_conn.icsk_ack.lrcvtime, sent = tcp->lsndtime;

	/* a client's FIN counts as a byte */
	if (tcp->bytes_received == (__u64)client_is_done)
		return 0;
	if (!tcp->bytes_sent)
		return 1;
	if (received != sent)
		return (__s32)(received - sent) > 0;
	return !client_is_done && tcp->snd_una == tcp->snd_nxt && tcp->snd_wl1 != tcp->rcv_nxt;
}

SEC("iter/bpf_sk_storage_map")
int list_work(struct bpf_iter__bpf_sk_storage_map *context)
{
	struct sock *sk = context->sk;
	struct agent_work_end found = {};
	struct tcp_sock *tcp;
	int client_is_done;

	if (!sk)
		return 0;
	client_is_done = sk->__sk_common.skc_state == STATE_CLOSE_WAIT;
	if (!client_is_done && sk->__sk_common.skc_state != STATE_ESTABLISHED)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp || !is_in_work(tcp, client_is_done))
		return 0;
	found.port = sk->__sk_common.skc_num;
	if (sk->__sk_common.skc_family == FAMILY_IPV4) {
		found.address[2] = bpf_htonl(0xffff);
		found.address[3] = sk->__sk_common.skc_rcv_saddr;
	} else {
		BPF_CORE_READ_INTO(&found.address, sk, __sk_common.skc_v6_rcv_saddr);
	}
	bpf_seq_write(context->meta->seq, &found, sizeof(found));
	return 0;
}

char program_license[] SEC("license") = "GPL";
