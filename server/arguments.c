// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "form.h"
#include "refusal.h"

static int set_mode(struct arguments *arguments, const char *text)
{
	if (!strcmp(text, "auto"))
		arguments->mode = PROGRAM_AUTO;
	else if (!strcmp(text, "native"))
		arguments->mode = PROGRAM_NATIVE;
	else if (!strcmp(text, "generic"))
		arguments->mode = PROGRAM_GENERIC;
	else
		return refusal_print("--mode", text, "native, generic, auto");
	return 0;
}

int arguments_form(const char *text, const struct form **form)
{
	static const struct form *const forms[] = {&form_bpf, &form_module};
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(text, forms[i]->word))
			continue;
		*form = forms[i];
		return 0;
	}
	return refusal_print("--form", text, "bpf, module");
}

static int set_format(struct arguments *arguments, const char *text)
{
	if (!strcmp(text, "json"))
		arguments->format = DOCUMENT_JSON;
	else if (!strcmp(text, "prometheus"))
		arguments->format = DOCUMENT_PROMETHEUS;
	else if (strcmp(text, "table"))
		return refusal_print("-o", text, "table, json, prometheus");
	return 0;
}

static int set_service(struct arguments *arguments, const char *text)
{
	unsigned long service;

	if (!config_number_parse(text, 1, FL_SERVER_SERVICES - 1, &service))
		return refusal_print("--service", text, "a service's id from 1 to 65535");
	arguments->service = (fl_u16)service;
	return 0;
}

static int set_form(struct arguments *arguments, const char *text)
{
	return arguments_form(text, &arguments->form);
}

static int set_mangle(struct arguments *arguments, const char *text)
{
	(void)text;
	arguments->mangle = true;
	return 0;
}

static int set_no_chaining(struct arguments *arguments, const char *text)
{
	(void)text;
	arguments->no_chaining = true;
	return 0;
}

/* The flags. take: what reads it; NULL: its text is noted at `at`, and `config` sets the configuration by it. */
static const struct flag {
	const char *name;
	int has_text;
	char letter;
	int (*take)(struct arguments *arguments, const char *text);
	size_t at;
	int (*config)(struct config *config, const char *field, const char *text);
} flags[] = {
#define TEXT(name, letter, member, config)                                                                             \
	{                                                                                                              \
		name, required_argument, letter, NULL, offsetof(struct arguments, member), config                      \
	}
    TEXT("interface", 'i', interface, NULL),
    TEXT("config", 'c', config, NULL),
    TEXT("services", 'V', services, NULL),
    TEXT("address", 'a', address, config_set_address),
    TEXT("port", 'p', port, config_set_port),
    TEXT("peers", 'P', peers, config_set_peers),
    TEXT("muxes", 'x', muxes, config_set_muxes),
    TEXT("servers", 'v', servers, config_set_servers),
    TEXT("tag-key", 't', tag_key, config_set_tag_key),
    TEXT("ipip-service", 's', ipip_service, config_set_ipip_service),
    TEXT("quiet", 'q', quiet, config_set_quiet),
    TEXT("flood-rate", 'F', flood_rate, config_set_flood_rate),
    TEXT("untagged", 'u', untagged, config_set_untagged),
#undef TEXT
    {"service", required_argument, 'S', set_service, 0, NULL},
    {"mode", required_argument, 'm', set_mode, 0, NULL},
    {"form", required_argument, 'f', set_form, 0, NULL},
    {"output", required_argument, 'o', set_format, 0, NULL},
    {"mangle", no_argument, 'M', set_mangle, 0, NULL},
    {"no-chaining", no_argument, 'n', set_no_chaining, 0, NULL},
};

enum {
	FLAGS = sizeof(flags) / sizeof(flags[0]),
};

static int flag_take(struct arguments *arguments, int letter, const char *text)
{
	const struct flag *flag = flags;

	while (flag->letter != letter)
		flag++;
	if (flag->take)
		return flag->take(arguments, text);
	*(const char **)((char *)arguments + flag->at) = text;
	return 0;
}

int arguments_parse(struct arguments *arguments, int argc, char **argv, enum arguments_of of)
{
	static const char *const allowed[] = {
	    [ARGUMENTS_ATTACH] = "iapPxvcnmtufsMqF",
	    [ARGUMENTS_DETACH] = "if",
	    [ARGUMENTS_SHOW] = "ifo",
	    [ARGUMENTS_FORGET] = "ifS",
	    [ARGUMENTS_KEYS] = "atV",
	};
	struct option options[FLAGS + 1] = {0};
	int option, err = 0;
	size_t i;

	for (i = 0; i < FLAGS; i++)
		options[i] = (struct option){flags[i].name, flags[i].has_text, NULL, flags[i].letter};
	arguments->form = &form_bpf;
	while (!err && (option = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		if (!strchr(allowed[of], option))
			return option == '?' ? -EINVAL
					     : refusal_print(argv[0], argv[optind - 1], "the flags of --help");
		err = flag_take(arguments, option, optarg);
	}
	if (!err && optind < argc)
		err = refusal_print(argv[0], argv[optind], "flags only");
	if (!err && of == ARGUMENTS_FORGET && !arguments->service)
		err = refusal_print("--service", "", "a service's id from 1 to 65535");
	return err || of == ARGUMENTS_KEYS ? err : arguments->form->check_arguments(arguments);
}

int arguments_config(const struct arguments *arguments, struct config *config)
{
	int err = 0;
	size_t i;

	*config = config_default;
	if (arguments->config)
		err = config_read_file(config, arguments->config);
	for (i = 0; !err && i < FLAGS; i++) {
		const char *text = *(const char *const *)((const char *)arguments + flags[i].at);
		char field[32];

		snprintf(field, sizeof(field), "--%s", flags[i].name);
		if (text && flags[i].config)
			err = flags[i].config(config, field, text);
	}
	if (!err && arguments->no_chaining)
		config->program.chaining = 0;
	if (!err && arguments->mangle)
		config->program.mangle = 1;
	if (!err)
		err = config_check(config);
	return err ? err : arguments->form->check_config(config);
}
