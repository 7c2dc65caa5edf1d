/* SPDX-License-Identifier: Apache-2.0 */
/* The first 64 KiB of an HTTP answer's body, in the pieces in which it comes, and the text that it must have. */
#ifndef FAIRLEAD_PROBE_BODY_H
#define FAIRLEAD_PROBE_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "check.h"

enum { BODY_MAX = 65536 }; /* of an answer, that is looked at */

struct body {
	const char *wanted; /* empty: anything will do */
	size_t len;         /* that came, at most BODY_MAX */
	bool has_match;
	size_t kept;               /* bytes in tail */
	char tail[CHECK_TEXT_MAX]; /* of what came, in which the match may begin */
};

/* Takes the next piece. False once BODY_MAX bytes came: what follows is not looked at. */
bool body_take(struct body *body, const char *data, size_t len);

/* Whether what came is what was wanted. */
bool body_is_right(const struct body *body);

#endif
