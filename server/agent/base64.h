/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 with padding (RFC 4648, 4), read strictly. */
#ifndef FAIRLEAD_AGENT_BASE64_H
#define FAIRLEAD_AGENT_BASE64_H

#include <stddef.h>

#include <fairlead/types.h>

/*
 * Decodes into out, which has 3 bytes for 4 of text, and returns how many bytes that are; -1: it is no base64 with
 * padding, or has bits behind the last byte.
 */
long base64_read(const char *text, size_t len, fl_u8 *out);

/* Freed by free(); NULL: no memory. */
char *base64_write(const fl_u8 *data, size_t len);

#endif
