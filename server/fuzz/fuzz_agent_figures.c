// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as what nginx, Apache, the kernel and commands say of how busy they are; the first byte chooses. A refusal
 * has a sentence that says what is allowed and is printable. A number has its digits, or its letters, in the text.
 */
#include <stdlib.h>
#include <string.h>

#include "../agent/figures.h"
#include "refusals.h"

enum {
	NGINX,
	APACHE,
	PRESSURE,
	LINE,
	KINDS,
};

static fl_u64 letters(const char *text, size_t len)
{
	fl_u64 count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] && strchr("RWDLG", text[i]);
	return count;
}

static bool digits_only(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return len > 0;
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	char why[FIGURES_WHY_MAX] = "", *text;
	fl_u64 microseconds = 0;
	fl_u32 busy = 0;
	size_t len = size ? size - 1 : 0;
	bool is_read;

	if (!size)
		return 0;
	text = malloc(len ? len : 1); /* of its very length, which the sanitizer guards */
	require(text);
	memcpy(text, data + 1, len);
	switch (data[0] % KINDS) {
	case NGINX:
		is_read = figures_nginx(text, len, &busy, why);
		require(!is_read || memmem(text, len, "Writing: ", 9));
		break;
	case APACHE:
		is_read = figures_apache(text, len, &busy, why);
		require(!is_read || busy <= letters(text, len));
		break;
	case PRESSURE:
		is_read = figures_pressure(text, len, &microseconds, why);
		require(!is_read || memmem(text, len, " total=", 7));
		break;
	default:
		is_read = figures_line(text, len, &busy, why);
		require(!is_read || digits_only(text, len));
	}
	require(busy <= 2U * FIGURES_MAX);
	if (!is_read)
		require(strstr(why, "; allowed: "));
	for (const char *at = why; *at; at++)
		require(*at >= ' ' && *at <= '~');
	free(text);
	return 0;
}
