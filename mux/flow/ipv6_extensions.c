/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/ipv6_extensions.h"

enum {
	HOP_BY_HOP = 0,
	ROUTING = 43,
	FRAGMENT = 44,
	AUTHENTICATION = 51,
	DESTINATION = 60,
};

/* Reads a fragment header; the walk ends there unless it is a whole datagram or a first fragment. */
static bool read_fragment(const uint8_t *header, struct ipv6_walk *walk)
{
	uint16_t word = fl_load_be16(header + 2);

	walk->offset = word & 0xfff8;
	walk->more = word & 1;
	walk->id = fl_load_be32(header + 4);
	walk->fragment = walk->offset || walk->more;
	return !walk->offset;
}

enum verdict ipv6_walk(const uint8_t *ip, uint32_t len, uint32_t total, struct ipv6_walk *out)
{
	struct ipv6_walk walk = {.protocol = ip[6], .at = FL_IPV6_LEN};

	for (int headers = 0;; headers++) {
		const uint8_t *header = ip + walk.at;
		uint32_t size;

		if (walk.protocol != HOP_BY_HOP && walk.protocol != ROUTING && walk.protocol != FRAGMENT &&
		    walk.protocol != AUTHENTICATION && walk.protocol != DESTINATION)
			break;
		if (headers == IPV6_EXTENSIONS_MAX || (walk.protocol == HOP_BY_HOP && headers) ||
		    total - walk.at < FL_IPV6_FRAGMENT_LEN)
			return VERDICT_IP_EXTENSION;
		if (len - walk.at < FL_IPV6_FRAGMENT_LEN)
			return VERDICT_SEGMENTED;
		if (walk.protocol == FRAGMENT)
			size = FL_IPV6_FRAGMENT_LEN;
		else if (walk.protocol == AUTHENTICATION)
			size = (header[1] + 2U) * 4;
		else
			size = (header[1] + 1U) * 8;
		/* a routing header with segments left: this is not the final destination */
		if (size > total - walk.at || (walk.protocol == ROUTING && header[3]) ||
		    (walk.protocol == FRAGMENT && walk.fragment))
			return VERDICT_IP_EXTENSION;
		if (size > len - walk.at)
			return VERDICT_SEGMENTED;
		walk.at += size;
		if (walk.protocol == FRAGMENT && !read_fragment(header, &walk)) {
			walk.protocol = header[0];
			break;
		}
		walk.protocol = header[0];
	}
	*out = walk;
	return VERDICT_SERVICE;
}
