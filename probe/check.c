/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/service_config.h"

static const char *const kinds[] = {
    [CHECK_NONE] = "none",   [CHECK_TCP] = "tcp", [CHECK_HTTP] = "http",
    [CHECK_HTTPS] = "https", [CHECK_UDP] = "udp", [CHECK_COMMAND] = "command",
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const char *check_kind_name(enum check_kind kind)
{
	return kinds[kind];
}

static int get_number(const json_t *object, const char *key, uint32_t low, uint32_t high, uint32_t *out,
		      struct reason *why)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		return reason_set(why, -EINVAL, "healthCheck.%s is %s; allowed: an integer %u..%u", key,
				  value ? "not an integer" : "missing", low, high);
	if (number < low || number > high)
		return reason_set(why, -EINVAL, "healthCheck.%s is %" JSON_INTEGER_FORMAT "; allowed: %u..%u", key,
				  number, low, high);
	*out = (uint32_t)number;
	return 0;
}

/* Text that goes into requests as it is: no byte may end a line or a string early. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static int refuse_text(const json_t *value, const char *name, struct reason *why, const char *allowed, int most)
{
	const char *text = json_string_value(value);

	if (!text)
		return reason_set(why, -EINVAL, "%s is no text; allowed: at most %d bytes %s", name, most, allowed);
	return reason_set(why, -EINVAL, "%s is '%.40s'; allowed: at most %d bytes %s", name, text, most, allowed);
}

/* An optional text of at most size - 1 bytes. name: in messages. */
static int get_text(const json_t *value, const char *name, char *out, size_t size, struct reason *why)
{
	if (!value)
		return 0;
	if (!json_is_string(value) || json_string_length(value) >= size ||
	    !is_plain(json_string_value(value), json_string_length(value)))
		return refuse_text(value, name, why, "in one line", (int)size - 1);
	memcpy(out, json_string_value(value), json_string_length(value));
	return 0;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Optional bytes as hex digits. */
static int get_bytes(const json_t *value, const char *name, struct check_bytes *out, struct reason *why)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);
	bool is_right = json_is_string(value) && len % 2 == 0 && len / 2 <= CHECK_BYTES_MAX;

	if (!value)
		return 0;
	for (size_t i = 0; is_right && i < len; i++) {
		int low = digit(text[i]);

		is_right = low >= 0;
		if (is_right)
			out->bytes[i / 2] = (uint8_t)(out->bytes[i / 2] << 4 | low);
	}
	if (!is_right)
		return refuse_text(value, name, why, "as hex digits", CHECK_BYTES_MAX);
	out->len = (uint32_t)(len / 2);
	return 0;
}

/* Statuses and ranges of them, "200-299,401". */
static int get_statuses(const json_t *value, struct check *out, struct reason *why)
{
	const char *at = json_string_value(value);
	bool is_right = at && *at;

	if (!value)
		return reason_set(why, -EINVAL, "healthCheck.expect.status is missing; allowed: such as 200-299,401");
	while (is_right && *at) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		is_right = end == at + 3 && digit(*at) >= 0;
		if (is_right && *end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
			is_right = end == at + 3 && digit(*at) >= 0;
		}
		is_right = is_right && first >= CHECK_STATUS_MIN && last <= CHECK_STATUS_MAX && first <= last &&
			   out->statuses < CHECK_STATUS_RANGES && (!*end || (*end == ',' && end[1]));
		if (!is_right)
			break;
		out->status[out->statuses].first = (uint16_t)first;
		out->status[out->statuses++].last = (uint16_t)last;
		at = *end ? end + 1 : end;
	}
	if (is_right)
		return 0;
	return reason_set(why, -EINVAL,
			  "healthCheck.expect.status is '%.40s'; allowed: at most %d of %d..%d, such as 200-299,401",
			  json_is_string(value) ? json_string_value(value) : "not a string", CHECK_STATUS_RANGES,
			  CHECK_STATUS_MIN, CHECK_STATUS_MAX);
}

static int get_http(const json_t *object, const json_t *expect, struct check *out, struct reason *why)
{
	const json_t *verify = json_object_get(object, "verify");
	int error = get_text(json_object_get(object, "path"), "healthCheck.path", out->path, sizeof(out->path), why);

	if (!error && out->path[0] != '/')
		error = reason_set(why, -EINVAL, "healthCheck.path is '%.80s'; allowed: a path that begins with /",
				   out->path);
	if (!error)
		error =
		    get_text(json_object_get(object, "host"), "healthCheck.host", out->host, sizeof(out->host), why);
	if (!error)
		error = get_statuses(json_object_get(expect, "status"), out, why);
	if (!error)
		error = get_text(json_object_get(expect, "body"), "healthCheck.expect.body", out->body,
				 sizeof(out->body), why);
	if (!error && verify && !json_is_boolean(verify))
		error = reason_set(why, -EINVAL, "healthCheck.verify is not a boolean; allowed: true, false");
	out->verify = json_is_true(verify);
	return error;
}

/* A name in the folder of commands, and nothing else. */
static int get_command(const json_t *object, struct check *out, struct reason *why)
{
	const json_t *value = json_object_get(object, "command");
	int error = get_text(value, "healthCheck.command", out->command, sizeof(out->command), why);
	size_t len = strlen(out->command);

	if (error)
		return error;
	if (!len || out->command[0] == '.' ||
	    strspn(out->command, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != len)
		return reason_set(
		    why, -EINVAL,
		    "healthCheck.command is '%s'; allowed: a file's name of letters, digits, '-', '_', '.'",
		    out->command);
	return 0;
}

static int get_kind(const json_t *object, struct check *out, struct reason *why)
{
	const char *word = json_string_value(json_object_get(object, "kind"));

	for (int i = CHECK_TCP; word && i < KINDS; i++)
		if (!strcmp(word, kinds[i])) {
			out->kind = (enum check_kind)i;
			return 0;
		}
	return reason_set(why, -EINVAL, "healthCheck.kind is '%.40s'; allowed: tcp, http, https, udp, command",
			  word ? word : "missing");
}

static int get_times(const json_t *object, struct check *out, struct reason *why)
{
	uint32_t port = 0;
	int error = json_object_get(object, "port") ? get_number(object, "port", 1, 65535, &port, why) : 0;

	if (!error)
		error = get_number(object, "intervalMillis", CHECK_INTERVAL_MIN_MS, CHECK_INTERVAL_MAX_MS,
				   &out->interval_ms, why);
	if (!error)
		error = get_number(object, "timeoutMillis", CHECK_TIMEOUT_MIN_MS,
				   out->interval_ms < CHECK_TIMEOUT_MAX_MS ? out->interval_ms : CHECK_TIMEOUT_MAX_MS,
				   &out->timeout_ms, why);
	if (!error)
		error = get_number(object, "rise", 1, CHECK_ROUNDS_MAX, &out->rise, why);
	if (!error)
		error = get_number(object, "fall", 1, CHECK_ROUNDS_MAX, &out->fall, why);
	if (!error)
		error = get_number(object, "jitterPercent", 0, CHECK_JITTER_MAX, &out->jitter, why);
	out->port = (uint16_t)port;
	return error;
}

static int get_check(const json_t *object, struct check *out, struct reason *why)
{
	const json_t *expect = json_object_get(object, "expect");
	int error;

	if (!json_is_object(object))
		return reason_set(why, -EINVAL, "healthCheck is not an object; allowed: one with kind");
	error = get_kind(object, out, why);
	if (!error)
		error = get_times(object, out, why);
	if (!error && expect && !json_is_object(expect))
		error = reason_set(why, -EINVAL, "healthCheck.expect is not an object; allowed: status, body, hex");
	if (error)
		return error;
	switch (out->kind) {
	case CHECK_HTTP:
	case CHECK_HTTPS:
		return get_http(object, expect, out, why);
	case CHECK_UDP:
		error = get_bytes(json_object_get(object, "send"), "healthCheck.send", &out->send, why);
		return error ? error
			     : get_bytes(json_object_get(expect, "hex"), "healthCheck.expect.hex", &out->expect, why);
	case CHECK_COMMAND:
		return get_command(object, out, why);
	default:
		return 0;
	}
}

int check_parse(const char *json, size_t len, struct check *out, struct reason *why)
{
	json_error_t at;
	json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &at);
	const json_t *object = json_object_get(root, "healthCheck");
	struct check check;
	int error = 0;

	if (!root)
		return reason_set(why, -EINVAL, "config is not JSON: line %d: %.160s", at.line, at.text);
	memset(&check, 0, sizeof(check)); /* padding too: checks are compared by their bytes */
	if (object && !json_is_null(object))
		error = get_check(object, &check, why);
	json_decref(root);
	if (!error)
		memcpy(out, &check, sizeof(*out));
	return error;
}

bool check_has_status(const struct check *check, unsigned status)
{
	for (uint32_t i = 0; i < check->statuses; i++)
		if (status >= check->status[i].first && status <= check->status[i].last)
			return true;
	return false;
}

/* Whether each of the service's ports of this protocol is probed. */
static bool is_for(enum check_kind kind, uint8_t protocol)
{
	return kind == CHECK_COMMAND || protocol == (kind == CHECK_UDP ? IPPROTO_UDP : IPPROTO_TCP);
}

int check_endpoints(const struct check *check, const struct service_config *config,
		    struct check_endpoint out[CHECK_ENDPOINTS_MAX], struct reason *why)
{
	struct service_port one = {check->kind == CHECK_UDP ? IPPROTO_UDP : IPPROTO_TCP, check->port};
	const struct service_port *ports = check->port ? &one : config->ports;
	uint32_t ports_count = check->port ? 1 : config->ports_count;
	int count = 0;

	for (uint32_t vip = 0; vip < config->vips_count; vip++)
		for (uint32_t i = 0; i < ports_count; i++) {
			if (!is_for(check->kind, ports[i].protocol))
				continue;
			if (count == CHECK_ENDPOINTS_MAX)
				return reason_set(why, -EINVAL,
						  "healthCheck has more than %d VIPs times ports; allowed: with port",
						  CHECK_ENDPOINTS_MAX);
			out[count++] = (struct check_endpoint){(uint16_t)vip, ports[i].protocol, ports[i].port};
		}
	if (!count)
		return reason_set(why, -EINVAL,
				  "healthCheck.kind is '%s', and the service has no port for it; allowed: with port",
				  kinds[check->kind]);
	return count;
}
