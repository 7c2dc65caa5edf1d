/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any lines as arguments and, after an empty line, as environment. An error names an option, or what was given in
 * its place. Accepted options are in range, and giving them all as flags or all in the environment has the same result.
 * Files are not opened here; fuzz_secret covers them.
 */
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "config/options.h"
#include "config/tag_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64, TEXT_MAX = 8192 };

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

int tag_key_read(const char *name, const char *path, struct tag_keys *out, struct reason *why)
{
	require(!strcmp(name, "--tag-key") || !strcmp(name, "FAIRLEAD_MUX_TAG_KEY"));
	if (!*path)
		return reason_set(why, -1, "%s: refused", name);
	*out = (struct tag_keys){.current = {1, strlen(path)}};
	return 0;
}

int login_read(const char *name, const char *path, struct login *out, struct reason *why)
{
	require(!strcmp(name, "--zookeeper-auth") || !strcmp(name, "FAIRLEAD_MUX_ZOOKEEPER_AUTH"));
	if (!*path)
		return reason_set(why, -1, "%s: refused", name);
	memset(out, 0, sizeof(*out));
	out->count = 1;
	return 0;
}

struct words {
	int count;
	char *word[WORDS_MAX + 1];
	size_t used;
	char text[TEXT_MAX];
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
	va_list args;
	int len;

	require(words->count < WORDS_MAX);
	va_start(args, format);
	len = vsnprintf(words->text + words->used, TEXT_MAX - words->used, format, args);
	va_end(args);
	require(len >= 0 && words->used + (size_t)len < TEXT_MAX);
	words->word[words->count++] = words->text + words->used;
	words->word[words->count] = NULL;
	words->used += (size_t)len + 1;
}

static bool is_text(const char *text, size_t size)
{
	return *text && strnlen(text, size) < size;
}

static void check_ranges(const struct options *o)
{
	require(is_text(o->id, sizeof(o->id)) && is_text(o->zookeeper, sizeof(o->zookeeper)));
	require(is_text(o->root, sizeof(o->root)) && o->root[0] == '/');
	if (*o->http.socket)
		require(is_text(o->http.socket, sizeof(o->http.socket)) && !*o->http.host && !*o->http.certificate);
	else
		require(is_text(o->http.host, sizeof(o->http.host)) && o->http.port);
	require(!*o->http.certificate == !*o->http.key);
	require(o->ports_count >= 1 && o->ports_count <= OPTIONS_PORTS_MAX);
	for (unsigned i = 0; i < o->ports_count; i++) {
		require(is_text(o->ports[i], sizeof(o->ports[i])));
		for (unsigned j = 0; j < i; j++)
			require(strcmp(o->ports[i], o->ports[j]));
	}
	require(o->workers >= 1 && o->workers <= OPTIONS_WORKERS_MAX && o->memory >= 64 && o->memory <= 1024 * 1024);
	require(o->spin <= OPTIONS_SPIN_MAX && o->withdraw_wait <= OPTIONS_SECONDS_MAX);
	require(o->drain <= OPTIONS_SECONDS_MAX && o->behind.seconds <= OPTIONS_SECONDS_MAX);
	require(o->behind.generations <= OPTIONS_GENERATIONS_MAX && !o->no_exception);
	require(fl_address_is_none(&o->address) || fl_address_is_ipv4(&o->address));
	require(fl_address_is_none(&o->address6) || !fl_address_is_ipv4(&o->address6));
}

/* Writes all options except the files: as flags --name=value, or as variables. */
static void say(const struct options *o, struct words *flags)
{
	char text[ADDRESS_TEXT_MAX];
	bool ipv6 = strchr(o->http.host, ':');

	add(flags, "--id=%s", o->id);
	add(flags, "--zookeeper=%s", o->zookeeper);
	add(flags, "--zookeeper-clear-text=%s", o->zookeeper_clear_text ? "on" : "off");
	add(flags, "--root=%s", o->root);
	add(flags, "--state-dir=%s", *o->state_dir ? o->state_dir : "none");
	for (unsigned i = 0; i < o->ports_count; i++)
		add(flags, "--port=%s", o->ports[i]);
	if (!fl_address_is_none(&o->address))
		add(flags, "--address=%s", address_print(&o->address, text));
	if (!fl_address_is_none(&o->address6))
		add(flags, "--address=%s", address_print(&o->address6, text));
	if (*o->http.socket)
		add(flags, "--http=unix:%s", o->http.socket);
	else
		add(flags, ipv6 ? "--http=[%s]:%u" : "--http=%s:%u", o->http.host, o->http.port);
	if (*o->http.certificate) {
		add(flags, "--http-cert=%s", o->http.certificate);
		add(flags, "--http-key=%s", o->http.key);
	}
	if (*o->http.tokens)
		add(flags, "--http-tokens=%s", o->http.tokens);
	add(flags, "--http-open=%s", o->http.open ? "on" : "off");
	add(flags, "--http-samples=%s", o->http_samples ? "on" : "off");
	add(flags, "--workers=%u", o->workers);
	add(flags, "--memory=%u", o->memory);
	add(flags, "--announce=%s", o->announce == ANNOUNCE_TUN ? "tun" : "none");
	add(flags, "--spin=%u", o->spin);
	add(flags, "--withdraw-wait=%u", o->withdraw_wait);
	add(flags, "--drain=%u", o->drain);
	add(flags, "--behind-seconds=%u", o->behind.seconds);
	add(flags, "--behind-generations=%u", o->behind.generations);
	add(flags, "--no-huge=%s", o->no_huge ? "true" : "false");
	add(flags, "--check=%s", o->check ? "true" : "false");
	add(flags, "--output=%s", o->json ? "json" : "text");
}

static void check_said(struct options *options)
{
	static struct words flags;
	static struct options again;
	struct reason why = {""};

	flags.count = 0;
	flags.used = 0;
	say(options, &flags);
	options->has_tag_key = false;
	memset(&options->tag_keys, 0, sizeof(options->tag_keys));
	memset(&options->login, 0, sizeof(options->login));
	require(!options_parse(&again, flags.count, flags.word, NULL, &why));
	require(!strcmp(again.id, options->id) && !strcmp(again.zookeeper, options->zookeeper));
	require(again.zookeeper_clear_text == options->zookeeper_clear_text);
	require(!strcmp(again.state_dir, options->state_dir));
	require(!strcmp(again.root, options->root) && !strcmp(again.http.host, options->http.host));
	require(!strcmp(again.http.socket, options->http.socket) && !strcmp(again.http.tokens, options->http.tokens));
	require(!strcmp(again.http.certificate, options->http.certificate));
	require(!strcmp(again.http.key, options->http.key) && again.http.open == options->http.open);
	require(again.http.port == options->http.port && again.ports_count == options->ports_count);
	for (unsigned i = 0; i < again.ports_count; i++)
		require(!strcmp(again.ports[i], options->ports[i]));
	require(fl_address_equal(&again.address, &options->address) &&
		fl_address_equal(&again.address6, &options->address6));
	require(again.workers == options->workers && again.memory == options->memory);
	require(again.spin == options->spin && again.announce == options->announce);
	require(again.withdraw_wait == options->withdraw_wait);
	require(again.drain == options->drain && again.behind.seconds == options->behind.seconds);
	require(again.behind.generations == options->behind.generations && again.no_huge == options->no_huge);
	require(again.check == options->check && again.json == options->json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct words arguments, environment;
	static struct options options;
	struct words *into = &arguments;
	struct reason why = {""};

	if (size >= TEXT_MAX / 2)
		return 0;
	arguments = environment = (struct words){0};
	for (size_t at = 0; at < size && into->count < WORDS_MAX;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;

		if (!len && into == &arguments)
			into = &environment;
		else
			add(into, "%.*s", (int)len, (const char *)data + at);
		at += len + 1;
	}
	if (options_parse(&options, arguments.count, arguments.word, environment.word, &why)) {
		require(why.text[0]);
		return 0;
	}
	if (options.help || options.version)
		return 0;
	check_ranges(&options);
	check_said(&options);
	return 0;
}
