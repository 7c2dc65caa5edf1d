/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Selects the mux's packets on an interface: those to a VIP, and fragments from other muxes (mux/headers/mux_to_mux.h),
 * go to its AF_XDP socket, everything else goes to the kernel as if the mux were not there. When the socket of a queue
 * is gone, its packets go to the kernel as well.
 *
 * DPDK loads this program (net_af_xdp, xdp_prog=) and puts its sockets into the map named xsks_map; the mux finds the
 * maps of VIPs by name through the interface (mux/host/xdp.h).
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/stddef.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include <fairlead/ip.h>

enum {
	QUEUES_MAX = 64,
	VIPS_MAX = 65536, /* REGISTRY_VIPS_MAX and the mux's own */
	GUE_PORT = 6080,
	VIP = 1,  /* the mux takes everything sent to it */
	SELF = 2, /* the mux's own address: it takes only packets from other muxes */
};

struct vlan_tag {
	__be16 tci;
	__be16 type;
};

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VIPS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __be32);
	__type(value, __u8);
} vips4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VIPS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct in6_addr);
	__type(value, __u8);
} vips6 SEC(".maps");

/* The IP header, after Ethernet and at most two VLAN tags, and its type. NULL: the frame is too short. */
static __always_inline void *ip_header(void *data, void *end, __be16 *type)
{
	struct ethhdr *ethernet = data;
	void *at = ethernet + 1;
	int i;

	if (at > end)
		return NULL;
	*type = ethernet->h_proto;
#pragma unroll
	for (i = 0; i < FL_VLANS_MAX; i++) {
		struct vlan_tag *tag = at;

		if (*type != bpf_htons(ETH_P_8021Q) && *type != bpf_htons(ETH_P_8021AD))
			break;
		if ((void *)(tag + 1) > end)
			return NULL;
		*type = tag->type;
		at = tag + 1;
	}
	return at;
}

static __always_inline int is_gue(__u8 protocol, struct udphdr *udp, void *end)
{
	return protocol == IPPROTO_UDP && (void *)(udp + 1) <= end && udp->dest == bpf_htons(GUE_PORT);
}

static __always_inline int is_ours(void *data, void *end)
{
	__be16 type;
	void *at = ip_header(data, end, &type);
	__u8 *kind;

	if (!at)
		return 0;
	if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = at;

		if ((void *)(ip + 1) > end)
			return 0;
		kind = bpf_map_lookup_elem(&vips4, &ip->daddr);
		return kind && (*kind == VIP || (ip->ihl == 5 && is_gue(ip->protocol, (void *)(ip + 1), end)));
	}
	if (type == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = at;

		if ((void *)(ip + 1) > end)
			return 0;
		kind = bpf_map_lookup_elem(&vips6, &ip->daddr);
		return kind && (*kind == VIP || is_gue(ip->nexthdr, (void *)(ip + 1), end));
	}
	return 0;
}

SEC("xdp")
int fl_mux_redirect(struct xdp_md *context)
{
	if (!is_ours((void *)(long)context->data, (void *)(long)context->data_end))
		return XDP_PASS;
	return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
