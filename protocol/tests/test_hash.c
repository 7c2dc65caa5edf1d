/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h against siphash.json and hash.json. */
#include <string.h>

#include <fairlead/hash.h>

#include "vectors.h"

static struct fl_siphash_key published_key;

static enum fl_hash_kind kind_of(const json_t *row)
{
	static const char *const words[] = {[FL_HASH_SIPHASH] = "siphash", [FL_HASH_CRC32] = "crc32"};

	return (enum fl_hash_kind)vectors_word(row, "hash", words, 3);
}

static void published_siphash(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes data = vectors_bytes(row, "data");
	char hash[17];

	snprintf(hash, sizeof(hash), "%016llx",
		 (unsigned long long)fl_siphash(&published_key, data.data, (fl_u32)data.len));
	assert_string_equal(hash, vectors_text(row, "hash"));
	vectors_free(&data);
}

static void crc32(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes data = vectors_bytes(row, "data");

	assert_int_equal(fl_crc32(data.data, (fl_u32)data.len), vectors_number(row, "crc32"));
	vectors_free(&data);
}

/* Source and destination, as in the packet: 4 bytes each or 16. */
static fl_u32 put_addresses(const json_t *row, fl_u8 *at)
{
	struct fl_address source = vectors_address(row, "source"), destination = vectors_address(row, "destination");
	bool is_ipv6 = strchr(vectors_text(row, "source"), ':') != NULL;
	fl_u32 len = is_ipv6 ? 16 : 4;

	memcpy(at, source.bytes + 16 - len, len);
	memcpy(at + len, destination.bytes + 16 - len, len);
	return 2 * len;
}

static fl_u32 put_key(const json_t *row, fl_u16 source_port, fl_u8 *at)
{
	fl_u32 len = put_addresses(row, at);

	if (!strcmp(vectors_text(row, "affinity"), "client"))
		return len;
	fl_store_be16(at + len, source_port);
	fl_store_be16(at + len + 2, (fl_u16)vectors_number(row, "destinationPort"));
	at[len + 4] = (fl_u8)vectors_number(row, "protocol");
	return len + 5;
}

static void flow(void **state)
{
	const json_t *row = *state, *answer;
	struct vectors_bytes key = vectors_bytes(row, "key");
	struct fl_siphash_key siphash_key = vectors_key(row, "hashKey");
	fl_u8 built[FL_KEY_IPV6_LEN];
	char text[17];
	fl_u64 hash;
	size_t i;

	assert_int_equal(put_key(row, (fl_u16)vectors_number(row, "sourcePort"), built), key.len);
	assert_memory_equal(built, key.data, key.len);
	hash = fl_flow_hash(kind_of(row), &siphash_key, key.data, (fl_u32)key.len);
	assert_int_equal((fl_u32)hash, vectors_number(row, "flowHash"));
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
	assert_string_equal(text, vectors_text(row, "flowHash64"));
	assert_int_equal(fl_outer_source_port(hash), vectors_number(row, "outerSourcePort"));
	json_array_foreach(vectors_list(row, "buckets"), i, answer)
	{
		fl_u32 buckets = (fl_u32)vectors_number(answer, "buckets");

		assert_int_equal(fl_bucket(hash, buckets), vectors_number(answer, "bucket"));
		assert_int_equal(fl_bucket(hash >> 32, buckets), vectors_number(answer, "second"));
	}
	vectors_free(&key);
}

/* 64 Ki flows that differ in the source port alone, into the buckets that the oracle found. */
static void nat(void **state)
{
	static fl_u8 hashes[4 * 65536];
	const json_t *row = *state, *histogram = vectors_list(row, "histogram");
	struct fl_siphash_key key = vectors_key(row, "hashKey");
	fl_u32 buckets = (fl_u32)vectors_number(row, "buckets");
	fl_u32 first = (fl_u32)vectors_number(row, "firstSourcePort");
	fl_u32 last = (fl_u32)vectors_number(row, "lastSourcePort");
	fl_u32 counts[256] = {0}, port, hash, i;
	fl_u8 built[FL_KEY_IPV6_LEN];

	assert_int_equal(buckets, 256);
	assert_true(last - first < 65536);
	for (port = first; port <= last; port++) {
		fl_u32 len = put_key(row, (fl_u16)port, built);

		hash = (fl_u32)fl_flow_hash(kind_of(row), &key, built, len);
		counts[fl_bucket(hash, buckets)]++;
		fl_store_be32(hashes + 4 * (size_t)(port - first), hash);
	}
	assert_int_equal(json_array_size(histogram), buckets);
	for (i = 0; i < buckets; i++)
		assert_int_equal(counts[i], json_integer_value(json_array_get(histogram, i)));
	assert_int_equal(fl_crc32(hashes, 4 * (last - first + 1)), vectors_number(row, "flowHashesCrc32"));
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : ".";
	json_t *siphash = vectors_load(folder, "siphash.json"), *hash = vectors_load(folder, "hash.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	published_key = vectors_key(siphash, "key");
	vectors_add(&tests, siphash, "rows", published_siphash);
	vectors_add(&tests, hash, "rows", flow);
	vectors_add(&tests, hash, "nat", nat);
	vectors_add(&tests, hash, "crc32", crc32);
	failed = vectors_run("hash", &tests);
	json_decref(siphash);
	json_decref(hash);
	return failed;
}
