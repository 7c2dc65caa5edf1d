/* SPDX-License-Identifier: Apache-2.0 */
/* Why something was refused: one sentence for people that names the field, its value and what is allowed. */
#ifndef FAIRLEAD_MUX_WHY_H
#define FAIRLEAD_MUX_WHY_H

#include <stdarg.h>
#include <stdio.h>

struct why {
	char text[320];
};

/* Writes the sentence and returns error (a negative errno), so that refusing is one statement. */
__attribute__((format(printf, 3, 4))) static inline int why_refuse(struct why *why, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return error;
}

#endif
