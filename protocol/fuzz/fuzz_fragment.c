/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a fragment between muxes: what parses is written again, and is no list; what does not leaves no trace. */
#include <string.h>

#include <fairlead/fragment.h>

static const struct fl_siphash_key key = {1, 2};
static const struct fl_address sender = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 11}};
static const struct fl_address receiver = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 12}};

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	struct fl_fragment parsed, untouched;
	fl_u8 written[FL_FRAGMENT_MAX_LEN];
	struct fl_list list;
	fl_u32 len;

	memset(&parsed, 0xa5, sizeof(parsed));
	untouched = parsed;
	if (!fl_fragment_parse(data, data + size, &parsed)) {
		require(!memcmp(&parsed, &untouched, sizeof(parsed)));
		return 0;
	}
	len = fl_fragment_len(parsed.flags);
	require(len <= size && fl_fragment_write(&parsed, written) == len && !memcmp(written, data, len));
	require(fl_list_parse(data, data + size, (fl_u32)size, false, false, &list) != FL_LIST_OK);
	if (parsed.flags & FL_LIST_TAG)
		require(fl_fragment_tag(&key, parsed.flags, &sender, &receiver, data + len, (fl_u32)size - len) !=
			fl_fragment_tag(&key, parsed.flags, &receiver, &sender, data + len, (fl_u32)size - len));
	return 0;
}
