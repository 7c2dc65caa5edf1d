/* SPDX-License-Identifier: Apache-2.0 */
#include "sent.h"

#include <string.h>

#include <fairlead/ipip.h>
#include <fairlead/list_srv6.h>
#include <fairlead/list_tag.h>

enum { ETHERNET = 14, VLAN = 4, IPV4 = 20, IPV6 = 40, UDP = 8, ROUTING = 43, IPIP = 4 };

static bool read_ipv4(const uint8_t *ip, struct sent *out)
{
	const uint8_t *gue = ip + IPV4 + UDP;

	out->source = fl_address_from_ipv4(ip + 12);
	out->to = fl_address_from_ipv4(ip + 16);
	out->end = ip + fl_load_be16(ip + 2);
	if (ip[9] == IPIP) {
		out->inner = ip + FL_IPIP_LEN;
		return fl_ipip_parse(ip, out->end, 0, &out->list) == FL_LIST_OK;
	}
	if (fl_list_parse(gue, out->end, (uint32_t)(out->end - gue), false, false, &out->list) != FL_LIST_OK)
		return false;
	out->inner = gue + out->list.header_len;
	return true;
}

static bool read_ipv6(const uint8_t *ip, struct sent *out)
{
	const uint8_t *gue = ip + IPV6 + UDP;

	memcpy(out->source.bytes, ip + 8, 16);
	memcpy(out->to.bytes, ip + 24, 16);
	out->end = ip + IPV6 + fl_load_be16(ip + 4);
	if (ip[6] == ROUTING) {
		gue = ip + IPV6;
		if (fl_list_srv6_parse(gue, out->end, &out->to, &out->list) != FL_LIST_OK)
			return false;
	} else if (fl_list_parse(gue, out->end, (uint32_t)(out->end - gue), false, true, &out->list) != FL_LIST_OK) {
		return false;
	}
	out->inner = gue + out->list.header_len;
	return true;
}

bool sent_parse(const uint8_t *frame, uint32_t len, struct sent *out)
{
	const uint8_t *ip = frame + ETHERNET;

	*out = (struct sent){.inner = NULL};
	if (fl_load_be16(ip - 2) == 0x8100)
		ip += VLAN;
	if (!(fl_load_be16(ip - 2) == 0x86dd ? read_ipv6(ip, out) : read_ipv4(ip, out)))
		return false;
	return out->end == frame + len && out->list.left == out->list.count;
}

bool sent_read(const struct rte_mbuf *mbuf, struct sent *out)
{
	return sent_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, out);
}

bool sent_is_tagged(const struct sent *sent, const struct fl_siphash_key *cluster)
{
	struct fl_list_message message;
	struct fl_siphash_key key;

	if (!cluster)
		return !(sent->list.flags & FL_LIST_TAG);
	key = fl_list_key(cluster, sent->list.service);
	return sent->list.flags & FL_LIST_TAG && !(sent->list.flags & FL_LIST_KEY) == !fl_key_bit(cluster) &&
	       fl_list_tag_message(&sent->list, &sent->to, sent->inner, sent->end, &message) &&
	       fl_list_tag_is_right(&key, &sent->list, &message);
}

bool sent_is_explained(const struct sent *sent, const struct explanation *said)
{
	if (said->candidates_count != sent->list.count + 1U || sent->list.generation != said->generation ||
	    !(sent->list.flags & FL_LIST_LATE) != !said->is_late ||
	    !fl_address_equal(&sent->to, &said->candidates[0].owner.address))
		return false;
	for (uint32_t i = 0; i < sent->list.count; i++)
		if (!fl_address_equal(&sent->list.candidate[i], &said->candidates[i + 1].owner.address))
			return false;
	return true;
}

bool sent_names(const struct sent *sent, const struct fl_address *address)
{
	for (uint32_t i = 0; i < sent->list.count; i++)
		if (fl_address_equal(&sent->list.candidate[i], address))
			return true;
	return false;
}
