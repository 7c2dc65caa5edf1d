/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of received encapsulations (fairlead/encap.h). The verifier allows no pointers to functions, so each column
 * is a switch over the list, with a function <word>_<column>() of each row behind it. With one row no comparison is
 * left.
 */
#ifndef FAIRLEAD_ENCAP_BPF_H
#define FAIRLEAD_ENCAP_BPF_H

#include "gue.bpf.h"
#include "srv6.bpf.h"

/* clang-format off */

/* Whether the packet is in a received encapsulation; then its number is in *encap. l4: behind the outer IP header. */
static __always_inline bool encap_find(bool is_ipv6, __u8 protocol, const void *l4, const void *end,
				       enum fl_encap_number *encap)
{
#define ROW(NAME, word)                                                                                                \
	if (word##_is_at(is_ipv6, protocol, l4, end)) {                                                                          \
		*encap = FL_ENCAP_##NAME;                                                                               \
		return true;                                                                                            \
	}
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	return false;
}

/* Whether the header at l4, which encap_find() has read, fills the len bytes behind the outer IP header. */
static __always_inline bool encap_has_len(enum fl_encap_number encap, const void *l4, __u32 len)
{
	switch (encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: return word##_has_len(l4, len);
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/* Fills all of *steer if it returns FL_STEER_OK. */
static __always_inline enum fl_steer_error encap_parse(const struct outer *outer, const void *end,
						       struct fl_steer *steer)
{
	switch (outer->encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: return word##_parse(outer, end, steer);
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/* Whether a packet that encap_parse() refused as FL_STEER_INNER_PROTOCOL is a notice, which only GUE carries. */
static __always_inline bool encap_is_notice(const struct outer *outer, const void *end)
{
	switch (outer->encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: return word##_is_notice(outer, end);
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/* Bytes from the end of the outer IP header to the inner packet. */
static __always_inline __u32 encap_inner_at(const struct outer *outer, const struct fl_steer *steer)
{
	switch (outer->encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: return word##_inner_at(steer);
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/* Writes the message that the packet's tag covers; false if there is no complete inner IP header. */
static __always_inline bool encap_tag_message(const struct outer *outer, const void *end, const struct fl_steer *steer,
					      struct fl_tag_message *message)
{
	switch (outer->encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: return word##_tag_message(outer, end, steer, message);
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/* Whether the packet can be sent on to a server's address of that family. */
static __always_inline bool encap_reaches(enum fl_encap_number encap, bool to_ipv6)
{
	switch (encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: return word##_reaches(to_ipv6);
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/* Fills in protocol, and ports or flow label, of the packet as it will be sent on. */
static __always_inline void encap_route_fill(const struct outer *outer, struct bpf_fib_lookup *fib)
{
	switch (outer->encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: word##_route_fill(outer, fib); return;
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/* What spreads flows over several paths, its last bits above all. */
static __always_inline __u32 encap_spread(const struct outer *outer)
{
	switch (outer->encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: return word##_spread(outer);
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/*
 * Writes the outer IP header at ip, and everything up to the inner packet, of the packet that is sent on. *tagged is
 * its message as it came in, if we have the cluster's key. False only if the packet is shorter than it was parsed.
 */
static __always_inline bool encap_send_on(enum fl_encap_number encap, __u8 *ip, const void *end, __u32 how,
					  bool to_ipv6, __u8 class, const struct fl_address *source,
					  const struct fl_address *next, struct fl_tag_message *tagged)
{
	switch (encap) {
#define ROW(NAME, word) case FL_ENCAP_##NAME: return word##_send_on(ip, end, how, to_ipv6, class, source, next, tagged);
	FL_ENCAPS_OF_XDP(ROW)
#undef ROW
	default: __builtin_unreachable();
	}
}

/* clang-format on */

#endif
