/* SPDX-License-Identifier: Apache-2.0 */
#include "body.h"

#include <string.h>

/* Looks for the text within the piece, and across its border with what came before. */
static void match(struct body *body, const char *data, size_t len)
{
	size_t wanted_len = strlen(body->wanted), keep;
	char joint[2 * CHECK_TEXT_MAX];
	size_t head = len < wanted_len - 1 ? len : wanted_len - 1;

	memcpy(joint, body->tail, body->kept);
	memcpy(joint + body->kept, data, head);
	body->has_match =
	    memmem(joint, body->kept + head, body->wanted, wanted_len) || memmem(data, len, body->wanted, wanted_len);
	if (len >= wanted_len - 1) {
		keep = wanted_len - 1;
		memcpy(body->tail, data + len - keep, keep);
	} else {
		keep = body->kept + len < wanted_len - 1 ? body->kept + len : wanted_len - 1;
		memcpy(body->tail, joint + body->kept + len - keep, keep);
	}
	body->kept = keep;
}

bool body_take(struct body *body, const char *data, size_t len)
{
	size_t left = BODY_MAX - body->len;

	if (len > left)
		len = left;
	if (!body->has_match && body->wanted[0])
		match(body, data, len);
	body->len += len;
	return body->len < BODY_MAX;
}

bool body_is_right(const struct body *body)
{
	return body->has_match || !body->wanted[0];
}
