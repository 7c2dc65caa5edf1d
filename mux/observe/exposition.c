/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/exposition.h"

#include <inttypes.h>

void exposition_begin(struct exposition *to, const char *name, const char *type, const char *help)
{
	to->name = name;
	fprintf(to->out, "# HELP %s_%s %s\n# TYPE %s_%s %s\n", to->prefix, name, help, to->prefix, name, type);
}

/* value may have any character. */
static void write_label(FILE *out, const char *label, const char *value)
{
	fprintf(out, "%s=\"", label);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('"', out);
}

static void write_name(const struct exposition *to, const char *label, const char *value)
{
	fprintf(to->out, "%s_%s", to->prefix, to->name);
	if (to->service || label)
		fputc('{', to->out);
	if (to->service)
		write_label(to->out, "service", to->service);
	if (to->service && label)
		fputc(',', to->out);
	if (label)
		write_label(to->out, label, value);
	if (to->service || label)
		fputc('}', to->out);
}

void exposition_add(const struct exposition *to, const char *label, const char *value, uint64_t number)
{
	write_name(to, label, value);
	fprintf(to->out, " %" PRIu64 "\n", number);
}

void exposition_add_decimal(const struct exposition *to, const char *label, const char *value, double number)
{
	write_name(to, label, value);
	fprintf(to->out, " %.3f\n", number);
}

void exposition_write(struct exposition *to, const char *name, const char *type, const char *help, uint64_t number)
{
	exposition_begin(to, name, type, help);
	exposition_add(to, NULL, NULL, number);
}
