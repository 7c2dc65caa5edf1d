// SPDX-License-Identifier: Apache-2.0
#include "base64.h"

#include <stdlib.h>
#include <string.h>

enum {
	NONE = 0xff,
};

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Values of base64's characters; NONE for all others. */
static const fl_u8 *values(void)
{
	static fl_u8 table[256];

	if (!table[0]) {
		memset(table, NONE, sizeof(table));
		for (fl_u8 i = 0; alphabet[i]; i++)
			table[(fl_u8)alphabet[i]] = i;
	}
	return table;
}

long base64_read(const char *text, size_t len, fl_u8 *out)
{
	const fl_u8 *value = values();
	size_t padding = 0, n = 0, i;

	if (len % 4)
		return -1;
	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	for (i = 0; i < len; i += 4) {
		size_t digits = i + 4 == len ? 4 - padding : 4, j;
		fl_u32 bits = 0;

		for (j = 0; j < digits; j++) {
			if (value[(fl_u8)text[i + j]] == NONE)
				return -1;
			bits |= (fl_u32)value[(fl_u8)text[i + j]] << (18 - 6 * j);
		}
		out[n++] = (fl_u8)(bits >> 16);
		if (digits > 2)
			out[n++] = (fl_u8)(bits >> 8);
		if (digits > 3)
			out[n++] = (fl_u8)bits;
		if (digits < 4 && bits & (digits == 2 ? 0xffff : 0xff))
			return -1;
	}
	return (long)n;
}

char *base64_write(const fl_u8 *data, size_t len)
{
	char *text = malloc((len + 2) / 3 * 4 + 1), *at = text;

	for (size_t i = 0; text && i < len; i += 3) {
		size_t left = len - i;
		fl_u32 bits =
		    (fl_u32)data[i] << 16 | (left > 1 ? (fl_u32)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);

		*at++ = alphabet[bits >> 18];
		*at++ = alphabet[bits >> 12 & 63];
		*at++ = left > 1 ? alphabet[bits >> 6 & 63] : '=';
		*at++ = left > 2 ? alphabet[bits & 63] : '=';
	}
	if (text)
		*at = '\0';
	return text;
}
