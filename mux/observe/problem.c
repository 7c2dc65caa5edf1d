/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/problem.h"

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <microhttpd.h>

static const char *title_of(unsigned status)
{
	switch (status) {
	case MHD_HTTP_NOT_FOUND:
		return "Not found";
	case MHD_HTTP_FORBIDDEN:
		return "Forbidden";
	case MHD_HTTP_METHOD_NOT_ALLOWED:
		return "Method not allowed";
	case MHD_HTTP_CONFLICT:
		return "Conflict";
	default:
		return "Invalid request";
	}
}

char *problem_text(unsigned status, const char *field, const char *value, const char *allowed)
{
	const char *shown = value ? value : "";
	json_t *text = json_string(shown), *json;
	char *dumped, *line = NULL;

	if (!text)
		shown = "(not UTF-8)";
	json_decref(text);
	json =
	    json_pack("{s:s, s:s, s:i, s:o, s:s, s:s, s:s}", "type", "about:blank", "title", title_of(status), "status",
		      (int)status, "detail", json_sprintf("%s '%s' is refused; allowed: %s", field, shown, allowed),
		      "field", field, "value", shown, "allowed", allowed);
	dumped = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	if (dumped && asprintf(&line, "%s\n", dumped) < 0)
		line = NULL;
	free(dumped);
	json_decref(json);
	return line;
}
