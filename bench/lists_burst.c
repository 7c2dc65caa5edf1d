/* SPDX-License-Identifier: Apache-2.0 */
/* The mux's own burst.c, whose last stages are those of lists.h. */
#define burst_classify         lists_classify
#define burst_hash             lists_hash
#define burst_choose           lists_choose
#define burst_steer_classified lists_steer_classified
#define burst_steer_by         lists_steer_by
#define burst_steer            lists_steer
#define burst_path             lists_path
#define burst_path_names       lists_path_names
#define burst_encap            lists_encap_all
#define burst_encap_rest       lists_encap_rest
#define lanes_rows             lists_rows
#define lanes_encap            lists_encap
#include "packet/burst.h"

/* Whether the packet carries a list. */
static inline bool is_listed(const struct packet *packet, uint32_t now)
{
	(void)now;
	return packet->row >> 16 & 0xffff && !(packet->flags & PACKET_SYN);
}
#define burst_is_moved is_listed
#include "packet/burst.c"

void lists_encap_all(struct burst *burst, uint32_t first, uint32_t end)
{
	lists_encap_rest(burst, first, end, 0);
}
