/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an SRH: what parses is written again byte by byte, and goes along all of its segments with the
 * tag that it had at the first; what does not parse leaves no trace.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/list_srv6.h>
#include <fairlead/list_tag.h>

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

/* The segment that Segments Left names: what the packet was sent to, if it is well-formed. */
static struct fl_address destination_of(const fl_u8 *data, size_t size)
{
	struct fl_address destination = {{0}};
	size_t at;

	if (size <= FL_LIST_SRV6_AT_LEFT)
		return destination;
	at = FL_LIST_SRV6_AT_SEGMENTS + (size_t)data[FL_LIST_SRV6_AT_LEFT] * FL_LIST_SRV6_SEGMENT_LEN;
	if (at + FL_LIST_SRV6_SEGMENT_LEN <= size)
		memcpy(destination.bytes, data + at, FL_LIST_SRV6_SEGMENT_LEN);
	return destination;
}

/* The message at each candidate is that at the first, whichever are left out: by the bits of `skips`. */
static void check_way(const fl_u8 *data, size_t size, unsigned skips)
{
	struct fl_address receiver = destination_of(data, size);
	struct fl_list_message message, later;
	fl_u8 *copy = malloc(size);
	struct fl_list list;
	bool has_message;

	require(copy != NULL);
	memcpy(copy, data, size);
	require(fl_list_srv6_parse(copy, copy + size, &receiver, &list) == FL_LIST_OK);
	has_message = fl_list_tag_message(&list, &receiver, copy + list.header_len, copy + size, &message);
	for (unsigned hop = 0; list.left; hop++) {
		fl_u8 left = (fl_u8)(list.left - 1);

		if (left && skips >> hop & 1)
			left--;
		require(hop < FL_LIST_MAX);
		receiver = list.candidate[list.count - left - 1];
		require(fl_list_srv6_forward(copy, copy + size, left, hop & 1));
		require(fl_list_srv6_parse(copy, copy + size, &receiver, &list) == FL_LIST_OK);
		require(list.left == left);
		require(fl_list_tag_message(&list, &receiver, copy + list.header_len, copy + size, &later) ==
			has_message);
		require(!has_message || (later.len == message.len && !memcmp(later.bytes, message.bytes, message.len)));
	}
	require(!memcmp(copy + list.header_len, data + list.header_len, size - list.header_len));
	free(copy);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	struct fl_address destination, other = {{0xff}};
	fl_u8 written[FL_LIST_SRV6_MAX_LEN];
	struct fl_list parsed, untouched;
	unsigned skips;

	if (size < 1)
		return 0;
	skips = *data++; /* no part of the packet */
	size--;
	destination = destination_of(data, size);
	memset(&parsed, 0xa5, sizeof(parsed));
	untouched = parsed;
	if (fl_list_srv6_parse(data, data + size, &destination, &parsed) != FL_LIST_OK) {
		require(!memcmp(&parsed, &untouched, sizeof(parsed)));
		return 0;
	}
	require(parsed.header_len <= size && parsed.left <= parsed.count && parsed.count <= FL_LIST_MAX);
	require(fl_address_equal(&destination, &other) ||
		fl_list_srv6_parse(data, data + size, &other, &untouched) == FL_LIST_SEGMENTS);
	require(fl_list_srv6_write(&parsed, &destination, written) == parsed.header_len);
	written[FL_LIST_SRV6_AT_TYPE] = data[FL_LIST_SRV6_AT_TYPE]; /* neither is looked at */
	written[FL_LIST_SRV6_AT_LAST + 1] = data[FL_LIST_SRV6_AT_LAST + 1];
	require(!memcmp(written, data, parsed.header_len));
	check_way(data, size, skips);
	return 0;
}
