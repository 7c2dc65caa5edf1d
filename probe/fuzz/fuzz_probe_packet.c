/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a packet that the kernel gives to the tunnel: the first byte chooses encapsulation, families and tags. What
 * is accepted is wrapped within its room, and servers read it as the packet of a probe.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/ipip.h>
#include <fairlead/list_srv6.h>

#include "wrap.h"

enum { PACKET_MAX = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fl_siphash_key key = {1, 2};
	const struct encap *chosen;
	struct fl_list list = {0};
	enum fl_list_error error;
	uint32_t at;
	struct wrap_flow flow;
	uint8_t *buffer, *inner, *ip;
	bool outer6;
	struct wrap wrap;
	uint32_t overhead;

	if (!size || size - 1 > PACKET_MAX)
		return 0;
	buffer = malloc(WRAP_HEADROOM + size - 1);
	require(buffer);
	inner = buffer + WRAP_HEADROOM;
	memcpy(inner, data + 1, size - 1);
	chosen = encaps[data[0] % FL_ENCAPS_COUNT];
	outer6 = chosen != &encap_ipip && (data[0] & 0x40 || chosen == &encap_srv6);
	wrap = (struct wrap){.encap = chosen,
			     .service = 3,
			     .hash = data[0] & 0x20 ? FL_HASH_CRC32 : FL_HASH_SIPHASH,
			     .key = &key,
			     .generation = 1,
			     .source = {{[10] = outer6 ? 0 : 0xff, [11] = outer6 ? 1 : 0xff, 10, 1, 0, 11}},
			     .backend = {{[10] = outer6 ? 0 : 0xff, [11] = outer6 ? 1 : 0xff, 10, 1, 0, 21}},
			     .tag_key = data[0] & 0x80 ? &key : NULL};
	if (!wrap_flow_read(inner, size - 1, &flow) || (chosen == &encap_ipip && flow.is_ipv6)) {
		free(buffer);
		return 0;
	}
	overhead = wrap_write(&wrap, &flow, inner, size - 1);
	require(overhead + ENCAP_AT_IP <= WRAP_HEADROOM);
	ip = inner - overhead;
	at = outer6 ? 48 : 28;
	if (chosen == &encap_ipip)
		error = fl_ipip_parse(ip, inner + size - 1, 3, &list);
	else if (chosen == &encap_srv6)
		error = fl_list_srv6_parse(ip + FL_IPV6_LEN, inner + size - 1, &wrap.backend, &list);
	else
		error =
		    fl_list_parse(ip + at, inner + size - 1, overhead + (uint32_t)size - 1 - at, false, outer6, &list);
	require(error == FL_LIST_OK && list.generation == 1 && !list.count);
	require(inner[flow.is_ipv6 ? 7 : 8] == WRAP_TTL);
	free(buffer);
	return 0;
}
