/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this host knows of a connection. Local state is any TCP socket but a listener (half-open ones are request
 * sockets, TIME_WAIT counts too), and a UDP socket that is connected to this very remote end. Every socket that a
 * look-up returns is released on every path; the verifier refuses the program otherwise.
 */
#ifndef FAIRLEAD_SOCKETS_BPF_H
#define FAIRLEAD_SOCKETS_BPF_H

#include "wire.bpf.h"

/*
 * Whether the packet completes a connection that this host answered with a SYN cookie. The helper wants the length of
 * an IPv6 header even where only IPv4's 20 bytes are looked at; with its TCP header an IPv4 packet has as many.
 */
static __always_inline bool cookie_is_valid(struct xdp_md *ctx, struct flow *flow, struct bpf_sock *listener)
{
	void *end = packet_end(ctx);
	struct tcphdr *tcp = flow->tcp;
	void *ip = flow->ip;

	if (!tcp || (void *)(tcp + 1) > end || ip + sizeof(struct ipv6hdr) > end || !tcp->ack || tcp->rst || tcp->syn)
		return false;
	return !bpf_tcp_check_syncookie(listener, ip, sizeof(struct ipv6hdr), tcp, sizeof(*tcp));
}

/* Of a TCP flow that is not opening a connection. */
static __always_inline enum fl_packet_class sockets_find_tcp(struct xdp_md *ctx, struct flow *flow, __u32 tuple_len)
{
	enum fl_packet_class found = FL_PACKET_UNKNOWN;
	struct bpf_sock *sk;

	sk = bpf_skc_lookup_tcp(ctx, &flow->tuple, tuple_len, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return FL_PACKET_UNKNOWN;
	if (sk->state != BPF_TCP_LISTEN)
		found = FL_PACKET_LOCAL_SOCKET;
	else if (cookie_is_valid(ctx, flow, sk))
		found = FL_PACKET_COOKIE_ACK;
	bpf_sk_release(sk);
	return found;
}

/* The look-up also returns sockets that take datagrams of anybody: those have no remote port. */
static __always_inline enum fl_packet_class sockets_find_udp(struct xdp_md *ctx, struct flow *flow, __u32 tuple_len)
{
	enum fl_packet_class found = FL_PACKET_UNKNOWN;
	struct bpf_sock *sk;

	sk = bpf_sk_lookup_udp(ctx, &flow->tuple, tuple_len, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return FL_PACKET_UNKNOWN;
	if (sk->state == BPF_TCP_ESTABLISHED && sk->dst_port)
		found = FL_PACKET_LOCAL_SOCKET;
	bpf_sk_release(sk);
	return found;
}

static __always_inline enum fl_packet_class sockets_classify(struct xdp_md *ctx, struct flow *flow)
{
	__u32 tuple_len = flow->family == FAMILY_INET ? sizeof(flow->tuple.ipv4) : sizeof(flow->tuple.ipv6);

	if (flow->protocol == IPPROTO_UDP)
		return sockets_find_udp(ctx, flow, tuple_len);
	if (flow->protocol != IPPROTO_TCP)
		return FL_PACKET_UNKNOWN;
	if (flow->tcp && flow->tcp->syn && !flow->tcp->ack && !flow->tcp->rst)
		return FL_PACKET_SYN;
	return sockets_find_tcp(ctx, flow, tuple_len);
}

#endif
