/* SPDX-License-Identifier: Apache-2.0 */
/* 16 bytes as text: keys, and the names of clusters. */
#ifndef FAIRLEAD_MUX_HEX_H
#define FAIRLEAD_MUX_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEX_BYTES = 16, HEX_DIGITS = 2 * HEX_BYTES };

enum hex_case { HEX_LOWER, HEX_EITHER };

/* Its value; -1: it is not allowed. */
int hex_digit(char c, enum hex_case allowed);

/* Reads 32 hex digits, byte 0 first; false: len is another, or a character is not allowed. */
bool hex_parse(const char *text, size_t len, enum hex_case allowed, uint8_t out[HEX_BYTES]);

#endif
