/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as ring/latest_arrays. A refused list has a reason and is empty. In an accepted one each way leads upwards,
 * ends where it should, and walking it by arrays_source_next() meets all of it.
 */
#include <stddef.h>

#include "control/service/arrays_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static void check_source(const struct arrays_source *source, uint32_t end)
{
	uint32_t last = 0, steps = 0;

	for (uint32_t at = arrays_source_next(source, 0); at; at = arrays_source_next(source, at)) {
		require(at > last && arrays_source_has(source, at));
		last = at;
		steps++;
	}
	require(last == end && steps == source->patches_count + 1);
	require(!arrays_source_has(source, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arrays_list list;
	struct reason why = {""};

	if (arrays_list_parse((const char *)data, size, &list, &why)) {
		require(why.text[0] && !list.version.newest && !list.newest.whole && !list.previous.whole);
		return 0;
	}
	if (!list.version.newest) {
		check_source(&list.ahead, arrays_source_end(&list.ahead));
		require(list.ahead.whole && !list.version.has_previous && !list.newest.whole && !list.previous.whole);
		return 0;
	}
	require(list.version.has_previous || !list.version.previous);
	require(list.version.previous < list.version.newest && !list.version.previous == !list.previous.whole);
	check_source(&list.newest, list.version.newest);
	if (list.version.previous)
		check_source(&list.previous, list.version.previous);
	require(!arrays_list_follows(&list, list.version.newest));
	return 0;
}
