/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <jansson.h>

struct preflight_check *preflight_add(struct preflight *preflight, const char *name, const char *about,
				      enum preflight_verdict verdict, const char *text, ...)
{
	struct preflight_check *check = &preflight->checks[preflight->count];
	va_list arguments;

	if (preflight->count + 1 < PREFLIGHT_CHECKS_MAX)
		preflight->count++;
	*check = (struct preflight_check){.name = name, .about = about, .verdict = verdict};
	va_start(arguments, text);
	vsnprintf(check->text, sizeof(check->text), text, arguments);
	va_end(arguments);
	return check;
}

unsigned preflight_count(const struct preflight *preflight, enum preflight_verdict verdict)
{
	unsigned count = 0;

	for (unsigned i = 0; i < preflight->count; i++)
		count += preflight->checks[i].verdict == verdict;
	return count;
}

static const char *verdict_word(enum preflight_verdict verdict)
{
	return verdict == PREFLIGHT_OK ? "ok" : verdict == PREFLIGHT_WARN ? "warn" : "fail";
}

static void print_json(const struct preflight *preflight, FILE *out)
{
	json_t *checks = json_array(), *all;

	for (unsigned i = 0; i < preflight->count; i++) {
		const struct preflight_check *check = &preflight->checks[i];
		json_t *one = json_pack("{s:s, s:s, s:s}", "check", check->name, "verdict",
					verdict_word(check->verdict), "text", check->text);

		if (check->about)
			json_object_set_new(one, "port", json_string(check->about));
		json_array_append_new(checks, one);
	}
	all = json_pack("{s:b, s:o}", "ready", !preflight_count(preflight, PREFLIGHT_FAIL), "checks", checks);
	json_dumpf(all, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(all);
}

void preflight_print(const struct preflight *preflight, bool json, FILE *out)
{
	unsigned failed = preflight_count(preflight, PREFLIGHT_FAIL),
		 warned = preflight_count(preflight, PREFLIGHT_WARN);

	if (json) {
		print_json(preflight, out);
		return;
	}
	for (unsigned i = 0; i < preflight->count; i++) {
		const struct preflight_check *check = &preflight->checks[i];

		fprintf(out, "%-5s %-11s %s%s%s\n", verdict_word(check->verdict), check->name,
			check->about ? check->about : "", check->about ? ": " : "", check->text);
	}
	fprintf(out, "%s: %u checks, %u failed, %u warnings\n", failed ? "not ready" : "ready", preflight->count,
		failed, warned);
}

int preflight_log(const struct preflight *preflight, struct reason *why)
{
	int error = 0;

	for (unsigned i = 0; i < preflight->count; i++) {
		const struct preflight_check *check = &preflight->checks[i];

		if (check->verdict != PREFLIGHT_OK)
			fprintf(stderr, "mux event=preflight check=%s verdict=%s port=%s text=\"%s\"\n", check->name,
				verdict_word(check->verdict), check->about ? check->about : "-", check->text);
		if (check->verdict == PREFLIGHT_FAIL && !check->may_come && !error)
			error = reason_set(why, -EINVAL, "%s%s%s: %s", check->name, check->about ? " of " : "",
					   check->about ? check->about : "", check->text);
	}
	return error;
}
