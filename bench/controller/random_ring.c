/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot of a ring whose buckets are dealt evenly to all backends and then shuffled, for bench/run size: no
 * history of weights leads there within an hour.
 *
 *	random_ring SERVICE GENERATION BUCKETS BACKENDS COMMITTED SEED > FILE
 *
 * Backends are 1..BACKENDS at 10.(id / 256).(id % 256).1 with weight 100; no bucket has a history.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/delta_bytes.h"
#include "tests/image.h"

/* Fisher and Yates. */
static void shuffle(struct delta *snapshot, struct chance *chance)
{
	for (uint32_t i = snapshot->buckets - 1; i > 0; i--) {
		uint32_t j = chance_below(chance, i + 1);
		uint16_t owner = snapshot->image.current[i];

		image_own(snapshot, i, snapshot->image.current[j]);
		image_own(snapshot, j, owner);
	}
}

int main(int argc, char **argv)
{
	uint32_t number[6]; /* in the order of the arguments */
	struct delta snapshot;
	struct chance chance;
	size_t body_len, len;
	uint8_t *body, *bytes;

	if (argc != 7) {
		fprintf(stderr, "usage: random_ring SERVICE GENERATION BUCKETS BACKENDS COMMITTED SEED\n");
		return 2;
	}
	for (int i = 0; i < 6; i++)
		number[i] = (uint32_t)strtoul(argv[i + 1], NULL, 10);
	snapshot = image_snapshot((uint16_t)number[0], number[1], number[2], (uint16_t)number[3]);
	for (uint32_t i = 0; i < snapshot.backends_count; i++) {
		struct fl_delta_backend *backend = &snapshot.backends[i];
		const uint8_t ipv4[4] = {10, (uint8_t)(backend->id >> 8), (uint8_t)backend->id, 1};

		backend->weight = 100;
		backend->address = fl_address_from_ipv4(ipv4);
	}
	snapshot.image.committed = number[4];
	chance.state = number[5] + 1ULL;
	shuffle(&snapshot, &chance);
	body = delta_bytes_body(&snapshot, &body_len);
	bytes = delta_bytes_wrap(&snapshot, body, body_len, &len);
	if (fwrite(bytes, len, 1, stdout) != 1) {
		fprintf(stderr, "random_ring: cannot be written\n");
		return 1;
	}
	free(bytes);
	free(body);
	image_free(&snapshot);
	return 0;
}
