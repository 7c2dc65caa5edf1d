/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char type_problem[] = "application/problem+json";

static const char *title_of(enum response_status status)
{
	static const struct {
		enum response_status status;
		const char *title;
	} titles[] = {
	    {RESPONSE_OK, "OK"},
	    {RESPONSE_INVALID, "Invalid request"},
	    {RESPONSE_UNAUTHORIZED, "Unauthorized"},
	    {RESPONSE_FORBIDDEN, "Forbidden"},
	    {RESPONSE_NOT_FOUND, "Not found"},
	    {RESPONSE_METHOD, "Method not allowed"},
	    {RESPONSE_CONFLICT, "Conflict"},
	    {RESPONSE_UNAVAILABLE, "Service unavailable"},
	};

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "";
}

void response_json(struct response *response, enum response_status status, const char *type, json_t *json)
{
	char *dumped = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	int len = dumped ? asprintf(&response->text, "%s\n", dumped) : -1;

	response->status = status;
	response->type = type;
	if (len < 0)
		response->text = NULL;
	response->len = len < 0 ? 0 : (size_t)len;
	free(dumped);
	json_decref(json);
}

void response_problem(struct response *response, enum response_status status, const char *field, const char *value,
		      const char *allowed)
{
	const char *shown = value ? value : "";
	json_t *text = json_string(shown);

	if (!text)
		shown = "(not UTF-8)";
	json_decref(text);
	response_json(response, status, type_problem,
		      json_pack("{s:s, s:s, s:i, s:o, s:s, s:s, s:s}", "type", "about:blank", "title", title_of(status),
				"status", (int)status, "detail",
				json_sprintf("%s '%s' is refused; allowed: %s", field, shown, allowed), "field", field,
				"value", shown, "allowed", allowed));
}

void response_unauthorized(struct response *response, const char *detail, const char *header)
{
	response_json(response, RESPONSE_UNAUTHORIZED, type_problem,
		      json_pack("{s:s, s:s, s:i, s:s}", "type", "about:blank", "title", title_of(RESPONSE_UNAUTHORIZED),
				"status", RESPONSE_UNAUTHORIZED, "detail", detail));
	response->header = header;
}

size_t response_head(const struct response *response, char out[RESPONSE_HEAD_MAX])
{
	char framing[48] = "Transfer-Encoding: chunked", date[48];
	time_t now = time(NULL);
	struct tm utc;

	if (!response->stream.read)
		snprintf(framing, sizeof(framing), "Content-Length: %zu", response->len);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
	return (size_t)snprintf(out, RESPONSE_HEAD_MAX,
				"HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\nContent-Type: %s\r\n%s\r\n%s\r\n",
				(int)response->status, title_of(response->status), date, response->type, framing,
				response->header ? response->header : "");
}

void response_clear(struct response *response)
{
	free(response->text);
	if (response->stream.read)
		response->stream.end(response->stream.context);
	*response = (struct response){0};
}
