// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arguments.h"
#include "flags.h"
#include "form.h"
#include "refusal.h"

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

static int read_form(void *state, const char *text)
{
	return arguments_form(text, &((struct arguments *)state)->form);
}

#define AT(member) .at = offsetof(struct arguments, member)

static const char service_allowed[] = "a service's id from 1 to 65535";

static const struct flag flags[] = {
    {"interface", 'i', FLAG_TEXT, AT(interface)},
    {"config", 'c', FLAG_TEXT, AT(config)},
    {"services", 'V', FLAG_TEXT, AT(services)},
    {"address", 'a', FLAG_TEXT, AT(address)},
    {"port", 'p', FLAG_TEXT, AT(port)},
    {"peers", 'P', FLAG_TEXT, AT(peers)},
    {"muxes", 'x', FLAG_TEXT, AT(muxes)},
    {"servers", 'v', FLAG_TEXT, AT(servers)},
    {"tag-key", 't', FLAG_TEXT, AT(tag_key)},
    {"ipip-service", 's', FLAG_TEXT, AT(ipip_service)},
    {"quiet", 'q', FLAG_TEXT, AT(quiet)},
    {"flood-rate", 'F', FLAG_TEXT, AT(flood_rate)},
    {"untagged", 'u', FLAG_TEXT, AT(untagged)},
    {"service", 'S', FLAG_NUMBER, AT(service), service_allowed, 1, FL_SERVER_SERVICES - 1},
    {"mode", 'm', FLAG_WORD, AT(mode), "native, generic, auto"},
    {"form", 'f', FLAG_READ, .read = read_form},
    {"output", 'o', FLAG_WORD, AT(format), "table, json, prometheus"},
    {"mangle", 'M', FLAG_ON, AT(mangle)},
    {"no-chaining", 'n', FLAG_ON, AT(no_chaining)},
    {0},
};

/* Those whose text is a field of the configuration. */
static const char of_config[] = "apPxvtsqFu";

int arguments_parse(struct arguments *arguments, int argc, char **argv, enum arguments_of of)
{
	static const char *const letters[] = {
	    [ARGUMENTS_ATTACH] = "iapPxvcnmtufsMqF",
	    [ARGUMENTS_DETACH] = "if",
	    [ARGUMENTS_SHOW] = "ifo",
	    [ARGUMENTS_FORGET] = "ifS",
	    [ARGUMENTS_KEYS] = "atV",
	};
	int err;

	*arguments = (struct arguments){.form = &form_bpf, .mode = PROGRAM_AUTO};
	err = flags_parse(flags, letters[of], arguments, argc, argv);
	if (!err && of == ARGUMENTS_FORGET && !arguments->service)
		err = refusal_print("--service", "", service_allowed);
	return err || of == ARGUMENTS_KEYS ? err : arguments->form->check_arguments(arguments);
}

int arguments_config(const struct arguments *arguments, struct config *config)
{
	const struct flag *flag;
	int err = 0;

	*config = config_default;
	if (arguments->config)
		err = config_read_file(config, arguments->config);
	for (flag = flags; !err && flag->name; flag++) {
		const char *text;

		if (!strchr(of_config, flag->letter)) /* its place may hold no text */
			continue;
		text = *(const char *const *)((const char *)arguments + flag->at);
		if (text)
			err = config_set(config, flag->name, text);
	}
	if (!err && arguments->no_chaining)
		config->program.chaining = 0;
	if (!err && arguments->mangle)
		config->program.mangle = 1;
	if (!err)
		err = config_check(config);
	return err ? err : arguments->form->check_config(config);
}
