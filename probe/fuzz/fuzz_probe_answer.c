/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an HTTP answer. The first byte says in which pieces they come: that changes nothing, and the probe ends
 * within its limits. A body that is whole is also what a naive search finds in it.
 */
#include <stdlib.h>
#include <string.h>

#include "answer.h"

enum { PIECES = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

/* In pieces of a copy each, so that a read beyond one is seen. */
static void take(struct answer *answer, const char *text, size_t len, size_t piece)
{
	for (size_t at = 0; at < len; at += piece) {
		size_t part = len - at < piece ? len - at : piece;
		char *copy = malloc(part);

		require(copy);
		memcpy(copy, text + at, part);
		answer_take(answer, copy, part);
		free(copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer whole = {.body.wanted = "fine"}, pieces = {.body.wanted = "fine"};
	const char *text = (const char *)data + 1;
	size_t len = size - 1;

	if (!size)
		return 0;
	if (len)
		take(&whole, text, len, len);
	take(&pieces, text, len, 1 + data[0] % PIECES);
	require(whole.state == pieces.state && whole.status == pieces.status);
	require(whole.body.len == pieces.body.len && whole.body.has_match == pieces.body.has_match);
	require(whole.body.len <= BODY_MAX && whole.body.len <= len && whole.head_len <= ANSWER_HEAD_MAX);
	require(whole.state != ANSWER_DONE || (whole.status >= 101 && whole.status <= 999));
	require(!whole.body.has_match || memmem(text, len, "f", 1));
	if (whole.state == ANSWER_UNTIL_END) {
		const char *body = text + len - whole.body.len;

		require(whole.body.has_match == !!memmem(body, whole.body.len, "fine", 4));
		answer_end(&whole);
		require(whole.state == ANSWER_DONE);
	}
	return 0;
}
