/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the paper's header: what parses is a list of at most one, and can be sent on; what does not leaves no trace. */
#include <stdlib.h>
#include <string.h>

#include <fairlead/ipip.h>

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	static const fl_u8 self[4] = {10, 1, 0, 22}, next[4] = {10, 1, 0, 21};
	struct fl_list parsed, again;
	fl_u8 *copy;

	memset(&parsed, 0xa5, sizeof(parsed));
	again = parsed;
	if (fl_ipip_parse(data, data + size, 1, &parsed) != FL_LIST_OK) {
		require(!memcmp(&parsed, &again, sizeof(parsed)));
		return 0;
	}
	require(parsed.count <= 1 && parsed.left == parsed.count && !parsed.flags && parsed.header_len == FL_IPIP_LEN);
	copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data, size);
	require(!fl_ipip_forward(copy, copy + FL_IPIP_LEN - 1, self, next));
	require(fl_ipip_forward(copy, copy + size, self, next));
	require(fl_ipip_parse(copy, copy + size, 1, &again) == FL_LIST_OK);
	require(again.generation == parsed.generation && !again.count && !again.left);
	require(!memcmp(copy + FL_IPIP_LEN, data + FL_IPIP_LEN, size - FL_IPIP_LEN));
	require(fl_load_be16(copy + FL_IPIP_AT_CHECKSUM) == fl_ipip_checksum(copy));
	free(copy);
	return 0;
}
