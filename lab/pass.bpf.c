// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets every packet pass. The lab attaches it to the far ends of the servers' wires: a veth that answers with XDP_TX
 * wakes its peer only if that one has a program as well; without it, chained packets lie in the peer's ring until some
 * other packet comes along (seen up to Linux 6.18, veth_xdp_flush).
 */
#include <linux/bpf.h>

__attribute__((section("xdp"), used)) int pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}
