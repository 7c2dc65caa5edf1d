/* SPDX-License-Identifier: Apache-2.0 */
#include "config/hex.h"

int hex_digit(char c, enum hex_case allowed)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return allowed == HEX_EITHER && c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool hex_parse(const char *text, size_t len, enum hex_case allowed, uint8_t out[HEX_BYTES])
{
	if (len != HEX_DIGITS)
		return false;
	for (int i = 0; i < HEX_BYTES; i++) {
		int high = hex_digit(text[2 * i], allowed), low = hex_digit(text[2 * i + 1], allowed);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
