/* SPDX-License-Identifier: Apache-2.0 */
/* What the last stages of lanes_stages.h read of backends' lines. */
#ifndef FAIRLEAD_MUX_LANES_LINES_H
#define FAIRLEAD_MUX_LANES_LINES_H

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "encap/gue.h"
#include "flow/lanes_frames.h"
#include "ring/backend.h"
#include "flow/service.h"

enum {
	AT_GUE = GUE_AT_GUE,
	AT_OWN = offsetof(struct backend, outer.head) + AT_IP + 16, /* a backend's IPv4 address in its line */
	PLAIN_MORE = GUE_PLAIN_LEN - AT_IP,                         /* of a header without addresses and tag */
	NAMED_ONE = 1 << 16 | 1 << 28,                              /* what a row says of a list of one */
};

static inline const struct backend *line_of(const struct lanes *lanes, uint32_t i)
{
	return (const struct backend *)(uintptr_t)lanes->line[i];
}

/* The last 16 bytes of the lanes' lines, of which the first word has sum and kind, and the second MTU and port. */
struct line_ends {
	vec first, second;
};

enum { AT_ENDS = 48 };

_Static_assert(offsetof(struct backend, outer.sum) == AT_ENDS + 2 &&
		   offsetof(struct backend, outer.ipv6) == AT_ENDS + 4 &&
		   offsetof(struct backend, mtu) == AT_ENDS + 8 && offsetof(struct backend, port) == AT_ENDS + 12,
	       "words of a backend's last 16 bytes");

/* Two words of each lane's line. */
VEC_INLINE void load_line_words(const struct lanes *lanes, size_t offset, vec *first, vec *second)
{
	const uint8_t *lines[LANES];

	for (uint32_t i = 0; i < LANES; i++)
		lines[i] = (const uint8_t *)line_of(lanes, i);
	vec_load_words(lines, offset, first, second);
}

/* Each by one load, so that the kind's four bytes are of one time: backend_kind(). */
VEC_INLINE struct line_ends load_line_ends(const struct lanes *lanes)
{
	struct line_ends ends;

	load_line_words(lanes, AT_ENDS, &ends.first, &ends.second);
#ifdef __aarch64__
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* templates are read afterwards, as x86-64 does by itself */
#endif
	return ends;
}

enum { AT_LIST = offsetof(struct backend, outer.head) + AT_GUE + FL_LIST_AT_VERSION }; /* of a line */

_Static_assert(AT_LIST + 2 * sizeof(uint64_t) <= sizeof(struct backend), "two words are read");

/* The first four bytes of the lanes' headers behind GUE, as templates have them. */
VEC_INLINE vec load_list_heads(const struct lanes *lanes)
{
	vec head, more;

	load_line_words(lanes, AT_LIST, &head, &more);
	return vec_and(head, vec_all(0xffffffff));
}

static inline uint32_t line_address(uint64_t line)
{
	uint32_t address;

	memcpy(&address, (const uint8_t *)(uintptr_t)line + AT_OWN, sizeof(address));
	return address;
}

/* The IPv4 addresses of these lines' backends, as loaded. */
VEC_INLINE vec load_line_addresses(const uint64_t lines[LANES])
{
#define ADDRESS(i) line_address(lines[i])
	return VEC_OF(ADDRESS);
#undef ADDRESS
}

/* What mbufs have of frames whose headers are so long in front of the IP packet: pkt_len 4, data_len 2 and no VLAN 2. */
VEC_INLINE vec frames_of(const struct lanes *lanes, vec more)
{
	vec ip_len = vec_right(vec_load(lanes->word), 48);
	vec len = vec_add(vec_add(ip_len, vec_all(AT_IP)), more);

	return vec_or(len, vec_left(len, 32));
}

#endif
