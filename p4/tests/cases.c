/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *file;

void cases_open(const char *path)
{
	file = fopen(path, "w");
	if (!file) {
		fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
		exit(1);
	}
}

void cases_close(void)
{
	if (file && fclose(file)) {
		fprintf(stderr, "cannot write cases: %s\n", strerror(errno));
		exit(1);
	}
	file = NULL;
}

bool cases_recording(void)
{
	return file;
}

void cases_register(const char *name, uint32_t at, uint64_t value)
{
	if (file)
		fprintf(file, "register %s %u %" PRIu64 "\n", name, at, value);
}

void cases_entry(bool add, const char *table, const char *text)
{
	if (file)
		fprintf(file, "%s %s %s\n", add ? "add" : "delete", table, text);
}

void cases_clear(void)
{
	if (file)
		fputs("clear\n", file);
}

static void print_bytes(const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		fprintf(file, "%02x", bytes[i]);
}

void cases_frame(unsigned in_port, const uint8_t *in, uint32_t in_len, unsigned out_port, const uint8_t *out,
		 uint32_t out_len)
{
	if (!file)
		return;
	fprintf(file, "frame %u ", in_port);
	print_bytes(in, in_len);
	fprintf(file, " %u ", out_port);
	if (out)
		print_bytes(out, out_len);
	else
		fputc('=', file);
	fputc('\n', file);
}

void cases_count(const char *name, uint32_t at, uint64_t value)
{
	if (file)
		fprintf(file, "count %s %u %" PRIu64 "\n", name, at, value);
}
