/* SPDX-License-Identifier: Apache-2.0 */
/* What the last stages of lanes.h read of backends' lines. Included on x86-64 only. */
#ifndef FAIRLEAD_MUX_LANES_LINES_H
#define FAIRLEAD_MUX_LANES_LINES_H

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "encap/gue.h"
#include "flow/simd.h"
#include "ring/backend.h"
#include "flow/service.h"

enum { AT_GUE = GUE_AT_GUE };

/* Bytes of the outer IPv4 header in which packets differ. */
#define IP_WHERE (1ULL << (AT_IP + 1) | 3ULL << (AT_IP + 2) | 3ULL << (AT_IP + 10))

static inline const struct backend *line_of(const struct lanes *lanes, uint32_t i)
{
	return (const struct backend *)(uintptr_t)lanes->line[i];
}

/* The last 16 bytes of the lanes' lines, of which the first word has sum and kind, and the second MTU and port. */
struct line_ends {
	__m512i first, second;
};

enum { AT_ENDS = 48 };

_Static_assert(offsetof(struct backend, outer.sum) == AT_ENDS + 2 &&
		   offsetof(struct backend, outer.ipv6) == AT_ENDS + 4 &&
		   offsetof(struct backend, mtu) == AT_ENDS + 8 && offsetof(struct backend, port) == AT_ENDS + 12,
	       "words of a backend's last 16 bytes");

/* Each by one load, which is atomic on processors with AVX, as backend_kind() has to be. */
static inline ISA struct line_ends load_line_ends(const struct lanes *lanes)
{
#define END(i) ((const uint8_t *)line_of(lanes, i) + AT_ENDS)
	__m512i even = four_of(END(0), END(2), END(4), END(6)), odd = four_of(END(1), END(3), END(5), END(7));
#undef END

	return (struct line_ends){_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd)};
}

enum { AT_LIST = offsetof(struct backend, outer.head) + AT_GUE + FL_LIST_AT_VERSION }; /* of a line */

_Static_assert(AT_LIST + sizeof(__m128i) <= sizeof(struct backend), "four_of() reads 16 bytes");

/* The first four bytes of the lanes' headers behind GUE, as templates have them. */
static inline ISA __m512i load_list_heads(const struct lanes *lanes)
{
	__m512i even, odd;

#define LIST(i) ((const uint8_t *)line_of(lanes, i) + AT_LIST)
	even = four_of(LIST(0), LIST(2), LIST(4), LIST(6));
	odd = four_of(LIST(1), LIST(3), LIST(5), LIST(7));
#undef LIST
	return _mm512_and_si512(_mm512_unpacklo_epi64(even, odd), all(0xffffffff));
}

#endif
