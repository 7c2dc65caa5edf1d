/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node with the settled generations, and what the mux keeps of it on disk, from any bytes. What is taken ascends, is
 * found by its id, and is the same when it was stored and loaded.
 */
#include <stdlib.h>
#include <string.h>

#include "control/cluster/settled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static void check(struct settled *settled)
{
	struct settled again;
	struct reason why;
	size_t len;
	uint8_t *bytes = settled_store(settled, &len);

	require(bytes && len == 8 * (size_t)settled->count);
	for (unsigned i = 0; i < settled->count; i++) {
		const struct settled_entry *entry = &settled->list[i];

		require(entry->service && entry->generation && (!i || entry[-1].service < entry->service));
		require(settled_find(settled, entry->service) == entry->generation);
	}
	require(!settled_load(bytes, len, &again, &why) && settled_equal(settled, &again));
	settled_clear(&again);
	free(bytes);
	settled_clear(settled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct settled settled;
	struct reason why = {""};
	size_t len;

	if (!settled_parse((const char *)data, size, &settled, &why))
		check(&settled);
	else
		require(!settled.count && why.text[0]);
	if (!settled_load(data, size, &settled, &why)) {
		uint8_t *bytes = settled_store(&settled, &len);

		require(bytes && len == size && (!size || !memcmp(bytes, data, size)));
		free(bytes);
		check(&settled);
	}
	return 0;
}
