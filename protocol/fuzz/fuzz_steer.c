/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as GUE base and steer header, and as the paper's option: what parses can be written and chained, what does
 * not leaves no trace.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/ipip.h>
#include <fairlead/tag.h>

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static bool same_fields(const struct fl_steer *a, const struct fl_steer *b)
{
	/* An IPv4 address in the IPv6 form is written back in the short one: PREVIOUS6 is not a field. */
	fl_u8 differ = (a->flags ^ b->flags) & (FL_STEER_MOVED | FL_STEER_TAG);

	return !differ && a->inner_protocol == b->inner_protocol && a->hops == b->hops && a->service == b->service &&
	       a->bucket == b->bucket && a->generation == b->generation && a->since == b->since &&
	       fl_address_equal(&a->previous, &b->previous) && !memcmp(a->tag, b->tag, sizeof(a->tag));
}

static void check_chained(const fl_u8 *data, size_t size, const struct fl_steer *parsed)
{
	struct fl_steer chained;
	fl_u8 *copy;

	if (parsed->hops >= FL_STEER_HOPS_MAX)
		return;
	copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data, size);
	require(fl_steer_chain(copy, copy + size));
	require(fl_steer_parse(copy, copy + size, &chained) == FL_STEER_OK);
	require(chained.hops == parsed->hops + 1 && chained.flags == 0 && chained.header_len == parsed->header_len);
	require(chained.service == parsed->service && chained.bucket == parsed->bucket);
	require(chained.generation == parsed->generation && chained.since == 0);
	require(!memcmp(copy + parsed->header_len, data + parsed->header_len, size - parsed->header_len));
	free(copy);
}

/* What follows the header is an inner packet of any kind; its tag must survive a way over the wire. */
static void check_tagged(const fl_u8 *data, size_t size, const struct fl_steer *parsed)
{
	static const struct fl_siphash_key key = {1, 2};
	struct fl_tag_message message;
	fl_u8 stored[FL_STEER_TAG_LEN];

	if (!fl_tag_message(data, parsed, data + parsed->header_len, data + size, &message))
		return;
	fl_tag_store(stored, fl_tag(&key, &message));
	require(fl_tag_load(stored) == fl_tag(&key, &message));
}

static void check_ipip(const fl_u8 *data, size_t size)
{
	static const fl_u8 self[4] = {10, 1, 0, 22}, next[4] = {10, 1, 0, 21};
	struct fl_steer parsed, again;
	fl_u8 *copy;

	memset(&parsed, 0xa5, sizeof(parsed));
	again = parsed;
	if (fl_ipip_parse(data, data + size, 1, &parsed) != FL_STEER_OK) {
		require(!memcmp(&parsed, &again, sizeof(parsed)));
		return;
	}
	copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data, size);
	require(fl_ipip_chain(copy, copy + size, self, next));
	require(fl_ipip_parse(copy, copy + size, 1, &again) == FL_STEER_OK);
	require(again.generation == parsed.generation && !again.flags && !again.since);
	require(!memcmp(copy + FL_IPIP_LEN, data + FL_IPIP_LEN, size - FL_IPIP_LEN));
	free(copy);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	struct fl_steer parsed, again, untouched;
	fl_u8 written[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];
	fl_u32 len;

	check_ipip(data, size);
	memset(&parsed, 0xa5, sizeof(parsed));
	untouched = parsed;
	if (fl_steer_parse(data, data + size, &parsed) != FL_STEER_OK) {
		require(!memcmp(&parsed, &untouched, sizeof(parsed)));
		return 0;
	}
	require(parsed.header_len <= size && parsed.header_len >= FL_GUE_BASE_LEN + fl_steer_len(parsed.flags));
	check_tagged(data, size, &parsed);
	len = fl_steer_write(&parsed, written);
	require(len <= parsed.header_len);
	require(fl_steer_parse(written, written + len, &again) == FL_STEER_OK);
	require(again.header_len == len && same_fields(&parsed, &again));
	check_chained(data, size, &parsed);
	return 0;
}
