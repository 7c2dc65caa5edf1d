/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this host knows of a connection. Local state is any TCP socket other than a listener (half-open connections are
 * request sockets; TIME_WAIT counts too), and a UDP socket that is connected to exactly this remote end. A TCP socket is
 * no local state for a segment that is not where its connection is (place.h).
 *
 * A datagram to an unconnected socket and a later fragment have no local state, and no RST would answer them. Every
 * socket that a lookup returns is released on every path; otherwise the verifier rejects the program.
 */
#ifndef FAIRLEAD_SOCKETS_BPF_H
#define FAIRLEAD_SOCKETS_BPF_H

#include <bpf/bpf_core_read.h>

#include "place.h"
#include "wire.bpf.h"

/* The kernel's structs: the only members read here, relocated to their offsets in the running kernel. */
struct tcp_request_sock {
	__u32 snt_isn; /* of the SYN-ACK */
} __attribute__((preserve_access_index));

struct sock_common {
	__u32 skc_tw_snd_nxt; /* behind the FIN */
	__u32 skc_tw_rcv_nxt; /* behind the client's */
} __attribute__((preserve_access_index));

struct inet_timewait_sock {
	struct sock_common __tw_common;
} __attribute__((preserve_access_index));

struct tcp_sock {
	__u32 snd_una; /* the first that is not acknowledged */
	__u32 snd_nxt; /* the next to be sent */
	__u32 rcv_nxt; /* the next to be received */
	__u32 rcv_wnd; /* what the client was told that it may send */
} __attribute__((preserve_access_index));

struct tcp_timewait_sock {
	struct inet_timewait_sock tw_sk;
	__u32 tw_rcv_wnd;
} __attribute__((preserve_access_index));

/* A cast of the verifier, of kernels from 6.2 on. */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __attribute__((section(".ksyms"), weak));

/*
 * The members of an open TCP socket; NULL: never, it is one. The call that does what the verifier can do takes a twentieth
 * of a delivery.
 */
static __always_inline const struct tcp_sock *socket_open(struct bpf_sock *open)
{
	if (bpf_rdonly_cast)
		return bpf_rdonly_cast(open, bpf_core_type_id_kernel(struct tcp_sock));
	return bpf_skc_to_tcp_sock(open);
}

/* Fills in the tuple for a lookup, source first; returns its length. */
static __always_inline __u32 tuple_fill(struct bpf_sock_tuple *tuple, const struct fl_flow *flow)
{
	if (flow->family == FL_FLOW_IPV4) {
		tuple->ipv4.saddr = fl_flow_ipv4(&flow->remote);
		tuple->ipv4.daddr = fl_flow_ipv4(&flow->local);
		tuple->ipv4.sport = flow->remote_port;
		tuple->ipv4.dport = flow->local_port;
		return sizeof(tuple->ipv4);
	}
	__builtin_memcpy(tuple->ipv6.saddr, &flow->remote, sizeof(flow->remote));
	__builtin_memcpy(tuple->ipv6.daddr, &flow->local, sizeof(flow->local));
	tuple->ipv6.sport = flow->remote_port;
	tuple->ipv6.dport = flow->local_port;
	return sizeof(tuple->ipv6);
}

/*
 * Whether the packet completes a connection that this host answered with a SYN cookie. The helper requires the length
 * of an IPv6 header even if it reads only IPv4's 20 bytes; with its TCP header an IPv4 packet is long enough.
 */
static __always_inline bool cookie_is_valid(struct xdp_md *ctx, const struct fl_flow_headers *headers,
					    struct bpf_sock *listener)
{
	void *end = packet_end(ctx);
	struct tcphdr *tcp = headers->tcp;
	void *ip = headers->ip;

	if (!tcp || (void *)(tcp + 1) > end || ip + sizeof(struct ipv6hdr) > end || !tcp->ack || tcp->rst || tcp->syn)
		return false;
	return !bpf_tcp_check_syncookie(listener, ip, sizeof(struct ipv6hdr), tcp, sizeof(*tcp));
}

/*
 * Reads a number of a socket that is not a full one. bpf_skc_to_tcp_request_sock() and bpf_skc_to_tcp_timewait_sock() return
 * NULL for a socket of an MPTCP listener, whose struct proto is another, so it is read as kernel memory. The verifier
 * allows no arithmetic with the socket, but reads its address from the stack as a number.
 */
static __always_inline bool socket_read(struct bpf_sock *socket, __u32 at, __u32 *number)
{
	__u64 address;

	return !bpf_probe_read_kernel(&address, sizeof(address), &socket) &&
	       !bpf_probe_read_kernel(number, sizeof(*number), (void *)(address + at));
}

/* Reads where a socket is, as much as the segment asks for. False: never. */
static __always_inline bool place_read(struct bpf_sock *sk, enum fl_place_of of, bool is_ack, struct fl_place *place)
{
	const struct tcp_sock *open;

	if (of == FL_PLACE_HALF_OPEN) {
		if (!socket_read(sk, bpf_core_field_offset(struct tcp_request_sock, snt_isn), &place->snd_nxt))
			return false;
		place->snd_nxt++;
		return true;
	}
	if (of == FL_PLACE_TIME_WAIT && is_ack)
		return socket_read(sk,
				   bpf_core_field_offset(struct tcp_timewait_sock, tw_sk.__tw_common.skc_tw_snd_nxt),
				   &place->snd_nxt);
	if (of == FL_PLACE_TIME_WAIT)
		return socket_read(sk,
				   bpf_core_field_offset(struct tcp_timewait_sock, tw_sk.__tw_common.skc_tw_rcv_nxt),
				   &place->rcv_nxt) &&
		       socket_read(sk, bpf_core_field_offset(struct tcp_timewait_sock, tw_rcv_wnd), &place->rcv_wnd);
	open = socket_open(sk);
	if (!open)
		return false;
	*place = (struct fl_place){open->snd_una, open->snd_nxt, open->rcv_nxt, open->rcv_wnd};
	return true;
}

/* The class of a TCP segment whose two ends a socket of this kind has. */
static __always_inline enum fl_packet_class class_of(struct xdp_md *ctx, const struct fl_flow_headers *headers,
						     struct bpf_sock *sk, enum fl_place_of of)
{
	struct tcphdr *tcp = headers->tcp;
	struct fl_place place = {0};

	if (!tcp || (void *)(tcp + 1) > packet_end(ctx) || !place_read(sk, of, tcp->ack, &place))
		return FL_PACKET_LOCAL_SOCKET;
	return fl_place_is_other(of, &place, tcp->ack, bpf_ntohl(tcp->ack_seq), bpf_ntohl(tcp->seq))
		   ? FL_PACKET_UNKNOWN
		   : FL_PACKET_LOCAL_SOCKET;
}

/* For a TCP segment that does not open a connection. */
static __always_inline enum fl_packet_class sockets_find_tcp(struct xdp_md *ctx, const struct fl_flow_headers *headers,
							     struct bpf_sock_tuple *tuple, __u32 tuple_len)
{
	enum fl_packet_class found = FL_PACKET_UNKNOWN;
	struct bpf_sock *sk;

	sk = bpf_skc_lookup_tcp(ctx, tuple, tuple_len, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return FL_PACKET_UNKNOWN;
	if (sk->state == BPF_TCP_NEW_SYN_RECV)
		found = class_of(ctx, headers, sk, FL_PLACE_HALF_OPEN);
	else if (sk->state == BPF_TCP_TIME_WAIT)
		found = class_of(ctx, headers, sk, FL_PLACE_TIME_WAIT);
	else if (sk->state == BPF_TCP_SYN_SENT)
		found = class_of(ctx, headers, sk, FL_PLACE_OPENING);
	else if (sk->state != BPF_TCP_LISTEN)
		found = class_of(ctx, headers, sk, FL_PLACE_OPEN);
	else if (cookie_is_valid(ctx, headers, sk))
		found = FL_PACKET_COOKIE_ACK;
	bpf_sk_release(sk);
	return found;
}

/* The lookup also returns unconnected sockets, which have no remote port. Without any socket the kernel refuses. */
static __always_inline enum fl_packet_class sockets_find_udp(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
							     __u32 tuple_len)
{
	enum fl_packet_class found = FL_PACKET_UNKNOWN;
	struct bpf_sock *sk;

	sk = bpf_sk_lookup_udp(ctx, tuple, tuple_len, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return FL_PACKET_UNKNOWN;
	found = sk->state == BPF_TCP_ESTABLISHED && sk->dst_port ? FL_PACKET_LOCAL_SOCKET : FL_PACKET_NO_RESET;
	bpf_sk_release(sk);
	return found;
}

/* For a SYN: whether its connection has a socket here, half-open or other; or_listener: or one that would take it. */
static __always_inline bool sockets_has(struct xdp_md *ctx, const struct fl_flow *flow, struct bpf_sock_tuple *tuple,
					bool or_listener)
{
	__u32 tuple_len = tuple_fill(tuple, flow);
	struct bpf_sock *sk = bpf_skc_lookup_tcp(ctx, tuple, tuple_len, BPF_F_CURRENT_NETNS, 0);
	bool has;

	if (!sk)
		return false;
	has = or_listener || sk->state != BPF_TCP_LISTEN;
	bpf_sk_release(sk);
	return has;
}

static __always_inline enum fl_packet_class sockets_classify(struct xdp_md *ctx, const struct fl_flow *flow,
							     const struct fl_flow_headers *headers,
							     struct bpf_sock_tuple *tuple)
{
	__u32 tuple_len = tuple_fill(tuple, flow);

	if (flow->protocol == IPPROTO_UDP)
		return sockets_find_udp(ctx, tuple, tuple_len);
	if (flow->protocol != IPPROTO_TCP)
		return flow->later_fragment ? FL_PACKET_NO_RESET : FL_PACKET_UNKNOWN;
	if (headers->tcp && headers->tcp->syn && !headers->tcp->ack && !headers->tcp->rst)
		return FL_PACKET_SYN;
	return sockets_find_tcp(ctx, headers, tuple, tuple_len);
}

#endif
