/* SPDX-License-Identifier: Apache-2.0 */
#include "config/address.h"

#include <arpa/inet.h>

const char *address_print(const struct fl_address *address, char text[ADDRESS_TEXT_MAX])
{
	bool ipv4 = fl_address_is_ipv4(address);

	inet_ntop(ipv4 ? AF_INET : AF_INET6, address->bytes + (ipv4 ? 12 : 0), text, ADDRESS_TEXT_MAX);
	return text;
}

bool address_parse(const char *text, struct fl_address *out)
{
	uint8_t ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1) {
		*out = fl_address_from_ipv4(ipv4);
		return true;
	}
	return inet_pton(AF_INET6, text, out->bytes) == 1;
}
