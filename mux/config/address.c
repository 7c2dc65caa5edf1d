/* SPDX-License-Identifier: Apache-2.0 */
#include "config/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

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

bool address_is_loopback(const struct fl_address *address)
{
	static const struct fl_address loopback6 = {{[15] = 1}};

	return fl_address_is_ipv4(address) ? address->bytes[12] == 127 : fl_address_equal(address, &loopback6);
}

socklen_t address_to_socket(const struct fl_address *address, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (fl_address_is_ipv4(address)) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons(port);
		memcpy(&ipv4->sin_addr, address->bytes + 12, sizeof(ipv4->sin_addr));
		return sizeof(*ipv4);
	}
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = htons(port);
	memcpy(&ipv6->sin6_addr, address->bytes, sizeof(ipv6->sin6_addr));
	return sizeof(*ipv6);
}

struct fl_address address_of_socket(const struct sockaddr *socket)
{
	const struct sockaddr_in *ipv4 = (const void *)socket;
	const struct sockaddr_in6 *ipv6 = (const void *)socket;
	struct fl_address address = {{0}};

	if (socket->sa_family == AF_INET)
		return fl_address_from_ipv4((const uint8_t *)&ipv4->sin_addr);
	if (socket->sa_family == AF_INET6)
		memcpy(address.bytes, &ipv6->sin6_addr, sizeof(address.bytes));
	return address;
}
