/* SPDX-License-Identifier: Apache-2.0 */
/* Those vectors of protocol/vectors/list.json that are headers as a mux writes them: it does, to the last byte. */
#include <string.h>

#include <fairlead/list_tag.h>

#include "encap/gue.h"
#include "ring/backend.h"
#include "vectors.h"

enum { INNER_MAX = 256 };

static struct fl_siphash_key cluster_key;
static unsigned tagged, written;

/* What a header is written from. */
static void check_header(const struct fl_list *list, const struct fl_address *to, const struct vectors_bytes *wanted)
{
	static const struct next_hop hop = {.resolved = true, .mtu = 1500};
	const struct fl_siphash_key key = fl_list_key(&cluster_key, list->service);
	const uint32_t len = list->header_len, inner_len = (uint32_t)wanted->len - len;
	struct encap_fields fields = {.inner_len = (uint16_t)inner_len, .tag_key = &key, .list = list};
	uint8_t out[GUE_LEN_MAX + INNER_MAX];
	struct backend backend;
	uint32_t at;

	assert_true(inner_len <= INNER_MAX);
	backend_fill(&backend, &encap_gue, list->service, to, &hop);
	at = backend.outer.ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE;
	memcpy(out + at + len, wanted->data + len, inner_len);
	encap_gue.write(out, &backend.outer, &fields);
	assert_memory_equal(out + at, wanted->data, wanted->len);
	written++;
}

/* Whether a mux would write it: nothing has been tried, and no server has marked it. */
static bool is_first(const struct fl_list *list)
{
	return list->left == list->count && !(list->flags & (FL_LIST_LATE | FL_LIST_KEY));
}

static bool parse(const json_t *row, const struct vectors_bytes *bytes, struct fl_address *to, struct fl_list *list)
{
	*to = vectors_address(row, "receiver");
	return fl_list_parse(bytes->data, bytes->data + bytes->len, (fl_u32)bytes->len, false, !fl_address_is_ipv4(to),
			     list) == FL_LIST_OK;
}

static void a_valid_header(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_address to;
	struct fl_list list;

	assert_true(parse(*state, &bytes, &to, &list));
	/* its tag is any, and the header of an IPv4 one may have the long form for no other reason than to be tested */
	if (is_first(&list) && !(list.flags & FL_LIST_TAG))
		check_header(&list, &to, &bytes);
	vectors_free(&bytes);
}

static void a_right_tag(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_address to;
	struct fl_list list;

	if (!strcmp(vectors_text(*state, "result"), "right") && parse(*state, &bytes, &to, &list) && is_first(&list)) {
		check_header(&list, &to, &bytes);
		tagged++;
	}
	vectors_free(&bytes);
}

static void some_are_as_muxes_write_them(void **state)
{
	(void)state;
	assert_true(tagged > 20 && written > tagged + 10);
}

int main(int argc, char **argv)
{
	struct vectors_tests tests = {NULL, 0};
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "list.json");
	int failed;

	cluster_key = vectors_key(file, "key");
	vectors_add(&tests, file, "valid", a_valid_header);
	vectors_add(&tests, file, "tags", a_right_tag);
	vectors_add_plain(&tests, "some are as muxes write them", some_are_as_muxes_write_them, NULL);
	failed = vectors_run("list vectors", &tests);
	json_decref(file);
	return failed;
}
