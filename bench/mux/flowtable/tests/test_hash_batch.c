/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes side by side are those of fl_siphash(), over the bytes of the connection's key. */
#include <stdint.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "flowtable/hash_batch.h"
#include "tests/image.h"

static void test_each_length_of_a_batch(void **state)
{
	struct chance chance = {1};

	(void)state;
	for (uint32_t round = 0; round < 1000; round++) {
		struct hash_batch batch = {.count = 0};
		uint64_t wanted[HASH_BATCH_MAX];

		for (uint32_t i = 0; i <= round % HASH_BATCH_MAX; i++) {
			bool whole = chance_below(&chance, 2);
			struct service service = {.affinity = whole ? AFFINITY_CONNECTION : AFFINITY_CLIENT,
						  .key = {chance_next(&chance), chance_next(&chance)}};
			uint64_t key[2] = {chance_next(&chance), chance_next(&chance) >> 24};

			hash_batch_add(&batch, &service, key);
			wanted[i] = fl_siphash(&service.key, (const uint8_t *)key, whole ? FL_KEY_IPV4_LEN : 8);
		}
		hash_batch_run(&batch);
		assert_memory_equal(batch.hash, wanted, batch.count * sizeof(wanted[0]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_length_of_a_batch)};

	return cmocka_run_group_tests_name("hash batch", tests, NULL, NULL);
}
