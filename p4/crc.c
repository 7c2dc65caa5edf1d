/* SPDX-License-Identifier: Apache-2.0 */
#include "crc.h"

#include <string.h>

#include <fairlead/hash.h>

/* Of a key: its length, and where its parts are. */
struct layout {
	uint32_t len;
	uint32_t address_len;
	bool has_ports;
};

static const struct layout layouts[P4_CRC_VARIANTS] = {
    [0] = {FL_KEY_IPV4_LEN, 4, true},
    [P4_CRC_CLIENT] = {8, 4, false},
    [P4_CRC_IPV6] = {FL_KEY_IPV6_LEN, 16, true},
    [P4_CRC_IPV6 | P4_CRC_CLIENT] = {32, 16, false},
};

uint32_t p4_crc_part(unsigned at, unsigned variant, uint8_t byte)
{
	const struct layout *layout = &layouts[variant];
	uint8_t key[FL_KEY_IPV6_LEN] = {0};
	uint32_t zeros = fl_crc32(key, layout->len);

	if (at < P4_CRC_SOURCES) {
		if (at >= layout->address_len)
			return 0;
		key[at] = byte;
	} else {
		if (!layout->has_ports)
			return 0;
		key[2 * layout->address_len + at - P4_CRC_SOURCES] = byte;
	}
	return fl_crc32(key, layout->len) ^ zeros;
}

uint32_t p4_crc_constant(unsigned variant, const struct fl_address *vip, uint8_t protocol, uint16_t port)
{
	const struct layout *layout = &layouts[variant];
	uint8_t key[FL_KEY_IPV6_LEN] = {0};

	memcpy(key + layout->address_len, vip->bytes + 16 - layout->address_len, layout->address_len);
	if (layout->has_ports) {
		fl_store_be16(key + 2 * layout->address_len + 2, port);
		key[2 * layout->address_len + 4] = protocol;
	}
	return fl_crc32(key, layout->len);
}
