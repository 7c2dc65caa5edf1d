/* SPDX-License-Identifier: Apache-2.0 */
/* The reason of a failure: one sentence that names the field, its value and what is allowed. */
#ifndef FAIRLEAD_MUX_REASON_H
#define FAIRLEAD_MUX_REASON_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct reason {
	char text[320];
};

/* Writes the sentence and returns error (a negative errno, or an enum's), so that a check fails in one statement. */
__attribute__((format(printf, 3, 4))) static inline int reason_set(struct reason *why, int error, const char *format,
								   ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return error;
}

/* The same of a value that is not allowed. */
static inline int reason_refuse(struct reason *why, const char *name, const char *value, const char *allowed)
{
	return reason_set(why, -EINVAL, "%s: '%.120s' is not allowed; allowed: %s", name, value, allowed);
}

#endif
