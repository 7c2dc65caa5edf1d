/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as GUE base and list header: what parses is written again byte by byte, and goes along all of its candidates
 * with the tag that it had at the first; what does not parse leaves no trace.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/list_tag.h>

static const struct fl_siphash_key key = {1, 2};
static const struct fl_address first4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 20}};
static const struct fl_address first6 = {{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20}};

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static enum fl_list_error parse(const fl_u8 *data, size_t size, const struct fl_address *receiver, struct fl_list *list)
{
	return fl_list_parse(data, data + size, (fl_u32)size, false, !fl_address_is_ipv4(receiver), list);
}

/* The message at each candidate is that at the first, whichever are left out: by the bits of `skips`. */
static void check_way(const fl_u8 *data, size_t size, const struct fl_address *first, unsigned skips)
{
	struct fl_address receiver = *first;
	struct fl_list_message message, later;
	fl_u8 *copy = malloc(size);
	struct fl_list list;
	bool has_message;

	require(copy != NULL);
	memcpy(copy, data, size);
	require(parse(copy, size, &receiver, &list) == FL_LIST_OK);
	has_message = fl_list_tag_message(&list, &receiver, copy + list.header_len, copy + size, &message);
	for (unsigned hop = 0; list.left; hop++) {
		fl_u8 left = (fl_u8)(list.left - 1);
		fl_u8 before = list.left;

		if (left && skips >> hop & 1)
			left--;
		require(hop < FL_LIST_MAX);
		require(fl_list_forward(copy, copy + size, &list, &receiver, left, hop & 1));
		receiver = list.candidate[list.count - left - 1];
		/* An address of the other family's short form is not one that a packet can be sent to. */
		require(parse(copy, size, list.flags & FL_LIST_IPV6 ? &first6 : &first4, &list) == FL_LIST_OK);
		require(list.left == left && left < before);
		require(fl_list_tag_message(&list, &receiver, copy + list.header_len, copy + size, &later) ==
			has_message);
		require(!has_message || (later.len == message.len && !memcmp(later.bytes, message.bytes, message.len)));
	}
	require(!memcmp(copy + list.header_len, data + list.header_len, size - list.header_len));
	free(copy);
}

/* What follows the header is an inner packet of any kind; its tag must survive a way over the wire. */
static void check_tagged(const fl_u8 *data, const struct fl_list *parsed, size_t size,
			 const struct fl_address *receiver)
{
	struct fl_list_message message;
	struct fl_list list = *parsed;

	if (!fl_list_tag_message(&list, receiver, data + list.header_len, data + size, &message))
		return;
	require(message.len % 8 == 0 && message.len <= sizeof(message.bytes));
	fl_store_be64(list.tag, fl_list_tag(&key, &message));
	require(fl_list_tag_is_right(&key, &list, &message));
	list.tag[0] ^= 1;
	require(!fl_list_tag_is_right(&key, &list, &message));
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	const struct fl_address *receiver;
	struct fl_list parsed, untouched;
	fl_u8 written[FL_LIST_MAX_LEN];
	unsigned skips;

	if (size < 1)
		return 0;
	/* The first byte is no part of the packet. */
	receiver = data[0] & 0x80 ? &first6 : &first4;
	skips = data[0];
	data++;
	size--;
	memset(&parsed, 0xa5, sizeof(parsed));
	untouched = parsed;
	if (parse(data, size, receiver, &parsed) != FL_LIST_OK) {
		require(!memcmp(&parsed, &untouched, sizeof(parsed)));
		return 0;
	}
	require(parsed.header_len <= size && parsed.left <= parsed.count && parsed.count <= FL_LIST_MAX);
	require(fl_list_write(&parsed, written) == parsed.header_len);
	require(!memcmp(written, data, parsed.header_len));
	check_tagged(data, &parsed, size, receiver);
	check_way(data, size, receiver, skips);
	return 0;
}
