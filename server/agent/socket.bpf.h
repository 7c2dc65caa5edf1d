/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets as the agent's programs see them: the kernel's structures with the few fields that are read. CO-RE finds their
 * places in the kernel that runs, by its BTF.
 */
#ifndef FAIRLEAD_AGENT_SOCKET_BPF_H
#define FAIRLEAD_AGENT_SOCKET_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	__u8 in6_u[16];
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};

#pragma clang attribute pop

enum {
	FAMILY_IPV4 = 2,
	FAMILY_IPV6 = 10,
	PROTOCOL_TCP = 6,
	STATE_ESTABLISHED = 1,
	STATE_SYN_RECV = 3,
	STATE_CLOSE = 7,
	STATE_CLOSE_WAIT = 8,
	STATE_LISTEN = 10,
};

#endif
