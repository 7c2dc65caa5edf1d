/* SPDX-License-Identifier: Apache-2.0 */
#include "gue_bytes.h"

#include <stdlib.h>
#include <string.h>

#include <fairlead/list_tag.h>

enum { INNER_MAX = 2048 };

static uint32_t build_ip(const struct gue_bytes *w, uint32_t udp_len, uint8_t *ip)
{
	uint32_t sum = 0;

	if (!fl_address_is_ipv4(&w->to)) {
		ip[0] = (uint8_t)(0x60 | w->tos >> 4);
		ip[1] = (uint8_t)(w->tos << 4 | w->hash >> 28);
		fl_store_be16(ip + 2, (uint16_t)(w->hash >> 12));
		fl_store_be16(ip + 4, (uint16_t)udp_len);
		ip[6] = 17;
		ip[7] = 64;
		memcpy(ip + 8, w->source.bytes, 16);
		memcpy(ip + 24, w->to.bytes, 16);
		return 40;
	}
	ip[0] = 0x45;
	ip[1] = w->tos;
	fl_store_be16(ip + 2, (uint16_t)(20 + udp_len));
	ip[6] = 0x40;
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, w->source.bytes + 12, 4);
	memcpy(ip + 16, w->to.bytes + 12, 4);
	for (int i = 0; i < 10; i++) {
		sum += fl_load_be16(ip + 2 * i);
		if (sum > 0xffff)
			sum -= 0xffff;
	}
	fl_store_be16(ip + 10, (uint16_t)(0xffff - sum));
	return 20;
}

static uint32_t build_list(const struct gue_bytes *w, uint8_t *gue)
{
	struct fl_siphash_key key;
	struct fl_list_message message;
	struct fl_list list = *w->list;

	if (list.flags & FL_LIST_TAG) {
		key = fl_list_key(w->tag_key, list.service);
		if (!fl_list_tag_message(&list, &w->to, w->inner, w->inner + w->inner_len, &message))
			abort();
		fl_store_be64(list.tag, fl_list_tag(&key, &message));
	}
	return fl_list_write(&list, gue);
}

uint32_t gue_bytes_build(const struct gue_bytes *w, uint8_t *out)
{
	static const uint8_t source_mac[6] = {2, 0, 0, 0, 0, 1};
	uint8_t gue[FL_LIST_MAX_LEN + INNER_MAX], *at = out;
	uint32_t gue_len = build_list(w, gue);

	memset(out, 0, GUE_BYTES_MAX);
	memcpy(at, w->mac, 6);
	memcpy(at + 6, source_mac, 6);
	at += 12;
	if (w->vlan) {
		fl_store_be16(at, 0x8100);
		fl_store_be16(at + 2, w->vlan);
		at += 4;
	}
	fl_store_be16(at, fl_address_is_ipv4(&w->to) ? 0x0800 : 0x86dd);
	at += 2;
	at += build_ip(w, 8 + gue_len + w->inner_len, at);
	fl_store_be16(at, fl_outer_source_port(w->hash));
	fl_store_be16(at + 2, FL_LIST_GUE_PORT);
	fl_store_be16(at + 4, (uint16_t)(8 + gue_len + w->inner_len));
	memcpy(at + 8, gue, gue_len);
	return (uint32_t)(at + 8 - out) + gue_len;
}
