/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a config node with a health check. A refused one has a reason and changes nothing; an accepted one is in
 * range, and what goes into requests as text has no byte that ends a line.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "config/service_config.h"
#include "cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static void require_line(const char *text, size_t max)
{
	require(strnlen(text, max + 1) <= max);
	for (; *text; text++)
		require((unsigned char)*text >= ' ');
}

static void require_ranges(const struct check *check)
{
	require(check->interval_ms >= CHECK_INTERVAL_MIN_MS && check->interval_ms <= CHECK_INTERVAL_MAX_MS);
	require(check->timeout_ms >= CHECK_TIMEOUT_MIN_MS && check->timeout_ms <= check->interval_ms);
	require(check->timeout_ms <= CHECK_TIMEOUT_MAX_MS);
	require(check->rise >= 1 && check->rise <= CHECK_ROUNDS_MAX && check->fall >= 1);
	require(check->fall <= CHECK_ROUNDS_MAX && check->jitter <= CHECK_JITTER_MAX);
	require(check->send.len <= CHECK_BYTES_MAX && check->expect.len <= CHECK_BYTES_MAX);
	require_line(check->path, CHECK_TEXT_MAX);
	require_line(check->host, CHECK_TEXT_MAX);
	require_line(check->body, CHECK_TEXT_MAX);
	require_line(check->command, CHECK_COMMAND_MAX);
	require(!strchr(check->command, '/') && check->command[0] != '.');
	require(check->kind != CHECK_COMMAND || check->command[0]);
	require((check->kind != CHECK_HTTP && check->kind != CHECK_HTTPS) || check->path[0] == '/');
	require(check->statuses <= CHECK_STATUS_RANGES);
	for (uint32_t i = 0; i < check->statuses; i++) {
		require(check->status[i].first >= CHECK_STATUS_MIN && check->status[i].last <= CHECK_STATUS_MAX);
		require(check_has_status(check, check->status[i].first));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct service_config config = {.vips_count = 1, .ports_count = 1, .ports = {{IPPROTO_TCP, 80}}};
	struct check_endpoint endpoints[CHECK_ENDPOINTS_MAX];
	struct check check, untouched;
	struct reason why = {""};

	cluster_mux_generation((const char *)data, size, "web");
	memset(&check, 0xa5, sizeof(check));
	memcpy(&untouched, &check, sizeof(check));
	if (check_parse((const char *)data, size, &check, &why)) {
		require(why.text[0] && !memcmp(&check, &untouched, sizeof(check)));
		return 0;
	}
	if (check.kind == CHECK_NONE)
		return 0;
	require_ranges(&check);
	require(check_endpoints(&check, &config, endpoints, &why) >= 1 || why.text[0]);
	return 0;
}
