// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

bool text_number_parse(const char *text, unsigned long min, unsigned long max, unsigned long *value)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*value = strtoul(text, &end, 10);
	return !errno && !*end && *value >= min && *value <= max;
}

bool text_address_parse(const char *text, struct fl_address *address)
{
	fl_u8 ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1) {
		*address = fl_address_from_ipv4(ipv4);
		return true;
	}
	return inet_pton(AF_INET6, text, address->bytes) == 1;
}

const char *text_address_print(const struct fl_address *address, char *text)
{
	if (fl_address_is_ipv4(address))
		inet_ntop(AF_INET, address->bytes + 12, text, TEXT_LEN);
	else
		inet_ntop(AF_INET6, address->bytes, text, TEXT_LEN);
	return text;
}

const char *text_peer_print(const struct fl_peer_key *peer, char *text)
{
	bool ipv4 = fl_address_is_ipv4(&peer->address) && peer->prefix_len >= TEXT_IPV4_PREFIX;
	size_t len;

	text_address_print(&peer->address, text);
	len = strlen(text);
	snprintf(text + len, TEXT_LEN - len, "/%u", peer->prefix_len - (ipv4 ? TEXT_IPV4_PREFIX : 0));
	return text;
}
