// SPDX-License-Identifier: GPL-2.0-only
#include "sockets.h"

#include <linux/inetdevice.h>
#include <linux/version.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "place.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define cookie_v4_is_valid(ip, tcp) (__cookie_v4_check(ip, tcp, ntohl((tcp)->ack_seq) - 1) > 0)
#define cookie_v6_is_valid(ip, tcp) (__cookie_v6_check(ip, tcp, ntohl((tcp)->ack_seq) - 1) > 0)
#else
#define cookie_v4_is_valid(ip, tcp) (__cookie_v4_check(ip, tcp) > 0)
#define cookie_v6_is_valid(ip, tcp) (__cookie_v6_check(ip, tcp) > 0)
#endif

/* Whether the packet completes a connection that this host answered with a SYN cookie. */
static bool cookie_is_valid(struct net *net, const struct fl_flow *flow, const struct fl_flow_headers *headers,
			    const struct sock *listener)
{
	const struct tcphdr *tcp = headers->tcp;

	if (!tcp || !tcp->ack || tcp->rst || tcp->syn)
		return false;
	if (!READ_ONCE(net->ipv4.sysctl_tcp_syncookies) || tcp_synq_no_recent_overflow(listener))
		return false;
	return flow->family == AF_INET ? cookie_v4_is_valid(headers->ip, tcp) : cookie_v6_is_valid(headers->ip, tcp);
}

/* The flow's socket, or its listener. The caller releases it if *refcounted; listeners are kept alive by RCU. */
static struct sock *tcp_lookup(struct net *net, const struct fl_flow *flow, int ifindex, bool *refcounted)
{
	struct inet_hashinfo *hashinfo = net->ipv4.tcp_death_row.hashinfo;

	/* Without the packet: an SO_REUSEPORT program must not see it before the stack does. */
	if (flow->family == AF_INET)
		return __inet_lookup(net, hashinfo, NULL, 0, fl_flow_ipv4(&flow->remote), flow->remote_port,
				     fl_flow_ipv4(&flow->local), flow->local_port, ifindex, 0, refcounted);
	return __inet6_lookup(net, hashinfo, NULL, 0, &flow->remote, flow->remote_port, &flow->local,
			      ntohs(flow->local_port), ifindex, 0, refcounted);
}

static struct fl_place place_read(struct sock *sk, enum fl_place_of of)
{
	if (of == FL_PLACE_HALF_OPEN)
		return (struct fl_place){.snd_nxt = tcp_rsk(inet_reqsk(sk))->snt_isn + 1};
	if (of == FL_PLACE_TIME_WAIT)
		return (struct fl_place){
		    .snd_nxt = READ_ONCE(tcp_twsk(sk)->tw_snd_nxt),
		    .rcv_nxt = READ_ONCE(tcp_twsk(sk)->tw_rcv_nxt),
		    .rcv_wnd = tcp_twsk(sk)->tw_rcv_wnd,
		};
	return (struct fl_place){
	    .snd_una = READ_ONCE(tcp_sk(sk)->snd_una),
	    .snd_nxt = READ_ONCE(tcp_sk(sk)->snd_nxt),
	    .rcv_nxt = READ_ONCE(tcp_sk(sk)->rcv_nxt),
	    .rcv_wnd = READ_ONCE(tcp_sk(sk)->rcv_wnd),
	};
}

/* The class of a TCP segment whose two ends a socket of this kind has. */
static enum fl_packet_class class_of(const struct tcphdr *tcp, struct sock *sk, enum fl_place_of of)
{
	struct fl_place place;

	if (!tcp)
		return FL_PACKET_LOCAL_SOCKET;
	place = place_read(sk, of);
	return fl_place_is_other(of, &place, tcp->ack, ntohl(tcp->ack_seq), ntohl(tcp->seq)) ? FL_PACKET_UNKNOWN
											     : FL_PACKET_LOCAL_SOCKET;
}

static enum fl_packet_class classify_tcp(struct net *net, const struct fl_flow *flow,
					 const struct fl_flow_headers *headers, int ifindex)
{
	enum fl_packet_class found = FL_PACKET_UNKNOWN;
	const struct tcphdr *tcp = headers->tcp;
	bool refcounted;
	struct sock *sk;

	if (tcp && tcp->syn && !tcp->ack && !tcp->rst)
		return FL_PACKET_SYN;
	sk = tcp_lookup(net, flow, ifindex, &refcounted);
	if (!sk)
		return FL_PACKET_UNKNOWN;
	if (sk->sk_state == TCP_NEW_SYN_RECV)
		found = class_of(tcp, sk, FL_PLACE_HALF_OPEN);
	else if (sk->sk_state == TCP_TIME_WAIT)
		found = class_of(tcp, sk, FL_PLACE_TIME_WAIT);
	else if (sk->sk_state == TCP_SYN_SENT)
		found = class_of(tcp, sk, FL_PLACE_OPENING);
	else if (sk->sk_state != TCP_LISTEN)
		found = class_of(tcp, sk, FL_PLACE_OPEN);
	else if (cookie_is_valid(net, flow, headers, sk))
		found = FL_PACKET_COOKIE_ACK;
	if (refcounted)
		sock_gen_put(sk);
	return found;
}

/* The lookup also returns unconnected sockets, which have no remote port. Without any socket the kernel refuses. */
static enum fl_packet_class classify_udp(struct net *net, const struct fl_flow *flow, int ifindex)
{
	enum fl_packet_class found;
	struct sock *sk;

	if (flow->family == AF_INET)
		sk = udp4_lib_lookup(net, fl_flow_ipv4(&flow->remote), flow->remote_port, fl_flow_ipv4(&flow->local),
				     flow->local_port, ifindex);
	else
		sk = udp6_lib_lookup(net, &flow->remote, flow->remote_port, &flow->local, flow->local_port, ifindex);
	if (!sk)
		return FL_PACKET_UNKNOWN;
	found =
	    sk->sk_state == TCP_ESTABLISHED && inet_sk(sk)->inet_dport ? FL_PACKET_LOCAL_SOCKET : FL_PACKET_NO_RESET;
	sock_put(sk);
	return found;
}

static enum fl_socket_state tcp_state(const struct sock *sk)
{
	switch (sk->sk_state) {
	case TCP_LISTEN:
		return FL_SOCKET_NONE;
	case TCP_NEW_SYN_RECV:
		return FL_SOCKET_HALF_OPEN;
	case TCP_TIME_WAIT:
		return FL_SOCKET_TIME_WAIT;
	default:
		return FL_SOCKET_OPEN;
	}
}

enum fl_socket_state fl_sockets_state(struct net *net, const struct fl_flow *flow, int ifindex)
{
	enum fl_socket_state state;
	bool refcounted;
	struct sock *sk;

	if (flow->protocol != IPPROTO_TCP)
		return classify_udp(net, flow, ifindex) == FL_PACKET_LOCAL_SOCKET ? FL_SOCKET_OPEN : FL_SOCKET_NONE;
	sk = tcp_lookup(net, flow, ifindex, &refcounted);
	if (!sk)
		return FL_SOCKET_NONE;
	state = tcp_state(sk);
	if (refcounted)
		sock_gen_put(sk);
	return state;
}

bool fl_sockets_has_any(struct net *net, const struct fl_flow *flow, int ifindex)
{
	bool refcounted;
	struct sock *sk = tcp_lookup(net, flow, ifindex, &refcounted);

	if (sk && refcounted)
		sock_gen_put(sk);
	return sk;
}

enum fl_packet_class fl_sockets_classify(struct net *net, const struct fl_flow *flow,
					 const struct fl_flow_headers *headers, int ifindex)
{
	switch (flow->protocol) {
	case IPPROTO_TCP:
		return classify_tcp(net, flow, headers, ifindex);
	case IPPROTO_UDP:
		return classify_udp(net, flow, ifindex);
	default:
		return flow->later_fragment ? FL_PACKET_NO_RESET : FL_PACKET_UNKNOWN;
	}
}

static bool ipv6_is_foreign(struct net *net, const struct in6_addr *address)
{
	struct rt6_info *route = rt6_lookup(net, address, NULL, 0, NULL, 0);
	bool foreign;

	if (!route)
		return false; /* unreachable: the kernel reports that to the sender */
	foreign = !(route->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST | RTF_REJECT));
	ip6_rt_put(route);
	return foreign && !ipv6_addr_is_multicast(address);
}

bool fl_sockets_is_foreign(struct net *net, const struct fl_flow *flow)
{
	/* An ICMP error is sent to the source of the packet that it quotes, which is this host. */
	if (flow->family == AF_INET)
		return inet_addr_type(net, fl_flow_ipv4(&flow->local)) == RTN_UNICAST;
	return ipv6_is_foreign(net, &flow->local);
}
