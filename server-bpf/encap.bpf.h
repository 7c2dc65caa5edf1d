/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of received encapsulations (fairlead/encap.h). The verifier allows no pointers to functions, so each column
 * is a switch over the list, with a function <word>_<column>() of each row behind it, which COLUMN names. With one row no
 * comparison is left.
 */
#ifndef FAIRLEAD_ENCAP_BPF_H
#define FAIRLEAD_ENCAP_BPF_H

#include "gue.bpf.h"
#include "srv6.bpf.h"

/* clang-format off */

#define CASE(NAME, word) case FL_ENCAP_##NAME: return COLUMN(word);

/* Returns what COLUMN says of the encapsulation's row. */
#define SWITCH(encap)                                                                                                  \
	switch (encap) {                                                                                                \
	FL_ENCAPS_OF_XDP(CASE)                                                                                          \
	default: __builtin_unreachable();                                                                               \
	}

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
#define COLUMN(word) word##_has_len(l4, len)
	SWITCH(encap)
#undef COLUMN
}

/* Fills in *list, without candidates and tag, if it returns FL_LIST_OK. self: the outer destination. */
static __always_inline enum fl_list_error encap_read(const struct outer *outer, const struct fl_address *self,
						     const void *end, struct fl_list *list)
{
#define COLUMN(word) word##_read(outer, self, end, list)
	SWITCH(outer->encap)
#undef COLUMN
}

/* Whether a packet that encap_read() refused as FL_LIST_INNER_PROTOCOL is a notice, which only GUE carries. */
static __always_inline bool encap_is_notice(const struct outer *outer, const void *end)
{
#define COLUMN(word) word##_is_notice(outer, end)
	SWITCH(outer->encap)
#undef COLUMN
}

/* Reads the candidates and the tag of what encap_read() has read. False: never, it has been parsed. */
static __always_inline bool encap_read_rest(enum fl_encap_number encap, const __u8 *l4, const void *end,
					    struct fl_list *list)
{
#define COLUMN(word) word##_read_rest(l4, end, list)
	SWITCH(encap)
#undef COLUMN
}

/* Bytes from the end of the outer IP header to the inner packet. */
static __always_inline __u32 encap_inner_at(enum fl_encap_number encap, const struct fl_list *list)
{
#define COLUMN(word) word##_inner_at(list)
	SWITCH(encap)
#undef COLUMN
}

/* Whether the packet can be sent on to a server's address of that family. */
static __always_inline bool encap_reaches(enum fl_encap_number encap, bool to_ipv6)
{
#define COLUMN(word) word##_reaches(to_ipv6)
	SWITCH(encap)
#undef COLUMN
}

/* Fills in protocol, and ports or flow label, of the packet as it will be sent on. False: never, it has been parsed. */
static __always_inline bool encap_route_fill(enum fl_encap_number encap, const __u8 *l4, const void *end, __be32 flow,
					     struct bpf_fib_lookup *fib)
{
#define COLUMN(word) word##_route_fill(l4, end, flow, fib)
	SWITCH(encap)
#undef COLUMN
}

/* What spreads flows over several paths, its last bits above all. */
static __always_inline __u32 encap_spread(enum fl_encap_number encap, const __u8 *l4, const void *end, __be32 flow)
{
#define COLUMN(word) word##_spread(l4, end, flow)
	SWITCH(encap)
#undef COLUMN
}

/*
 * Writes the outer IP header at ip, and everything up to the inner packet, of the packet that is sent from scratch->source
 * to the candidate in scratch->out. False only if the packet is shorter than it was parsed.
 */
static __always_inline bool encap_send_on(__u8 *ip, const void *end, const struct scratch *scratch, bool to_ipv6)
{
#define COLUMN(word) word##_send_on(ip, end, scratch, to_ipv6)
	SWITCH(scratch->arrival.encap)
#undef COLUMN
}

/* clang-format on */

#endif
