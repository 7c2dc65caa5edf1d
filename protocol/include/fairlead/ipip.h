/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The paper's own encapsulation (Beamer, NSDI '18, section 5; protocol/README.md, 2): IPv4 in IPv4, with what a mux tells
 * a server in an IP option. 36 bytes in front of the inner IPv4 packet.
 *
 * since is the only field that is not in network byte order: the paper's implementation copies it in x86 byte order,
 * both when sending and when comparing, and every peer of it must do the same. It is for the paper's servers alone: here
 * a reader ignores it.
 *
 * The option does not name the service, which is configured on the server, and has room for one former owner, no LATE and
 * no tag.
 */
#ifndef FAIRLEAD_IPIP_H
#define FAIRLEAD_IPIP_H

#include "list.h"

enum fl_ipip_numbers {
	FL_IPIP_LEN = 36,
	FL_IPIP_VERSION_IHL = 0x49,
	FL_IPIP_TTL = 64,
	FL_IPIP_DF = 0x40, /* in the first byte of flags and fragment offset */
	FL_IPIP_OPTION_TYPE = 0x61,
	FL_IPIP_OPTION_LEN = 16,
	FL_IPIP_INNER_LEN_MAX = 65535 - FL_IPIP_LEN,
};

/* Offsets from the first byte of the outer header. */
enum fl_ipip_offsets {
	FL_IPIP_AT_CLASS = 1,
	FL_IPIP_AT_TOTAL_LEN = 2,
	FL_IPIP_AT_DF = 6,
	FL_IPIP_AT_TTL = 8,
	FL_IPIP_AT_PROTOCOL = 9,
	FL_IPIP_AT_CHECKSUM = 10,
	FL_IPIP_AT_SOURCE = 12,
	FL_IPIP_AT_DESTINATION = 16,
	FL_IPIP_AT_OPTION = 20,
	FL_IPIP_AT_OPTION_LEN = 21,
	FL_IPIP_AT_PADDING = 22,
	FL_IPIP_AT_PREVIOUS = 24,
	FL_IPIP_AT_SINCE = 28,
	FL_IPIP_AT_GENERATION = 32,
};

_Static_assert((FL_IPIP_VERSION_IHL & 15) * 4 == FL_IPIP_LEN, "the header's own length field");
_Static_assert(20 + FL_IPIP_OPTION_LEN == FL_IPIP_LEN, "one option and nothing else");
_Static_assert(FL_IPIP_AT_GENERATION + 4 == FL_IPIP_LEN, "offsets and lengths agree");

/* since and previous: both, or both zero for no former owner. */
struct fl_ipip {
	fl_u8 traffic_class; /* of the inner packet: DSCP and ECN */
	fl_u16 inner_len;    /* bytes of the inner packet, at most FL_IPIP_INNER_LEN_MAX */
	fl_u8 source[4];
	fl_u8 destination[4];
	fl_u8 previous[4];
	fl_u32 since;
	fl_u32 generation;
};

/* RFC 1071 over the header, with 0 as the checksum field; in host order. */
FL_INLINE fl_u16 fl_ipip_checksum(const fl_u8 *ip)
{
	fl_u32 sum = 0;
	int at;

	for (at = 0; at < FL_IPIP_LEN; at += 2)
		if (at != FL_IPIP_AT_CHECKSUM)
			sum += fl_load_be16(ip + at);
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16; /* the fold may carry once more */
	return (fl_u16)~sum;
}

FL_INLINE void fl_ipip_checksum_set(fl_u8 *ip)
{
	fl_store_be16(ip + FL_IPIP_AT_CHECKSUM, fl_ipip_checksum(ip));
}

/* Writes outer header and option, checksum included, FL_IPIP_LEN bytes. */
FL_INLINE void fl_ipip_write(const struct fl_ipip *in, fl_u8 *out)
{
	__builtin_memset(out, 0, FL_IPIP_LEN);
	out[0] = FL_IPIP_VERSION_IHL;
	out[FL_IPIP_AT_CLASS] = in->traffic_class;
	fl_store_be16(out + FL_IPIP_AT_TOTAL_LEN, (fl_u16)(in->inner_len + FL_IPIP_LEN));
	out[FL_IPIP_AT_DF] = FL_IPIP_DF;
	out[FL_IPIP_AT_TTL] = FL_IPIP_TTL;
	out[FL_IPIP_AT_PROTOCOL] = FL_LIST_GUE_IPV4;
	__builtin_memcpy(out + FL_IPIP_AT_SOURCE, in->source, 4);
	__builtin_memcpy(out + FL_IPIP_AT_DESTINATION, in->destination, 4);
	out[FL_IPIP_AT_OPTION] = FL_IPIP_OPTION_TYPE;
	out[FL_IPIP_AT_OPTION_LEN] = FL_IPIP_OPTION_LEN;
	__builtin_memcpy(out + FL_IPIP_AT_PREVIOUS, in->previous, 4);
	fl_store_le32(out + FL_IPIP_AT_SINCE, in->since);
	fl_store_be32(out + FL_IPIP_AT_GENERATION, in->generation);
	fl_ipip_checksum_set(out);
}

/*
 * Parses outer header and option from data to end (exclusive), as a list: the bucket's former owner is its only candidate.
 * Errors are those of the list header, in the order of protocol/README.md, 2. Fills in all of *out, only if FL_LIST_OK:
 * with the configured service, no flags, and header_len FL_IPIP_LEN. Checks neither the checksum nor what IP itself
 * checks.
 */
FL_INLINE enum fl_list_error fl_ipip_parse(const fl_u8 *data, const fl_u8 *end, fl_u16 service, struct fl_list *out)
{
	fl_u32 generation;

	if (data + FL_IPIP_LEN > end)
		return FL_LIST_TRUNCATED;
	if (data[FL_IPIP_AT_PROTOCOL] != FL_LIST_GUE_IPV4)
		return FL_LIST_INNER_PROTOCOL;
	if (data[0] != FL_IPIP_VERSION_IHL)
		return FL_LIST_LENGTH;
	if (data[FL_IPIP_AT_OPTION] != FL_IPIP_OPTION_TYPE)
		return FL_LIST_VERSION_UNKNOWN;
	if (data[FL_IPIP_AT_OPTION_LEN] != FL_IPIP_OPTION_LEN)
		return FL_LIST_LENGTH;
	if (fl_load_be16(data + FL_IPIP_AT_PADDING))
		return FL_LIST_FLAGS_UNKNOWN;
	generation = fl_load_be32(data + FL_IPIP_AT_GENERATION);
	if (!generation)
		return FL_LIST_GENERATION_ZERO;
	__builtin_memset(out, 0, sizeof(*out));
	out->inner_protocol = FL_LIST_GUE_IPV4;
	out->header_len = FL_IPIP_LEN;
	out->service = service;
	out->generation = generation;
	if (fl_load_be32(data + FL_IPIP_AT_PREVIOUS)) {
		out->count = out->left = 1;
		out->candidate[0] = fl_address_from_ipv4(data + FL_IPIP_AT_PREVIOUS);
	}
	return FL_LIST_OK;
}

/*
 * Rewrites a parsed header to be sent on: from self to next, without a former owner. Traffic class, lengths and generation
 * stay. Returns false, with nothing changed, only if end is less than it was for the
 * parser.
 */
FL_INLINE bool fl_ipip_forward(fl_u8 *data, const fl_u8 *end, const fl_u8 self[4], const fl_u8 next[4])
{
	if (data + FL_IPIP_LEN > end)
		return false;
	data[4] = data[5] = 0;
	data[FL_IPIP_AT_DF] = FL_IPIP_DF;
	data[FL_IPIP_AT_DF + 1] = 0;
	data[FL_IPIP_AT_TTL] = FL_IPIP_TTL;
	__builtin_memcpy(data + FL_IPIP_AT_SOURCE, self, 4);
	__builtin_memcpy(data + FL_IPIP_AT_DESTINATION, next, 4);
	__builtin_memset(data + FL_IPIP_AT_PREVIOUS, 0, 8);
	fl_ipip_checksum_set(data);
	return true;
}

#endif
