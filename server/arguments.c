// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <getopt.h>
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

int arguments_parse(struct arguments *arguments, int argc, char **argv, enum arguments_of of)
{
	static const char *const allowed[] = {
	    [ARGUMENTS_ATTACH] = "iapPxvcnmtufsMq",
	    [ARGUMENTS_DETACH] = "if",
	    [ARGUMENTS_SHOW] = "ifo",
	    [ARGUMENTS_FORGET] = "ifS",
	    [ARGUMENTS_KEYS] = "atV",
	};
	static const struct option options[] = {
	    {"interface", required_argument, NULL, 'i'},
	    {"address", required_argument, NULL, 'a'},
	    {"port", required_argument, NULL, 'p'},
	    {"peers", required_argument, NULL, 'P'},
	    {"muxes", required_argument, NULL, 'x'},
	    {"servers", required_argument, NULL, 'v'},
	    {"config", required_argument, NULL, 'c'},
	    {"no-chaining", no_argument, NULL, 'n'},
	    {"mode", required_argument, NULL, 'm'},
	    {"output", required_argument, NULL, 'o'},
	    {"tag-key", required_argument, NULL, 't'},
	    {"form", required_argument, NULL, 'f'},
	    {"ipip-service", required_argument, NULL, 's'},
	    {"mangle", no_argument, NULL, 'M'},
	    {"service", required_argument, NULL, 'S'},
	    {"services", required_argument, NULL, 'V'},
	    {"quiet", required_argument, NULL, 'q'},
	    {"untagged", required_argument, NULL, 'u'},
	    {0},
	};
	int option, err = 0;

	arguments->form = &form_bpf;
	while (!err && (option = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		if (!strchr(allowed[of], option))
			return option == '?' ? -EINVAL
					     : refusal_print(argv[0], argv[optind - 1], "the flags of --help");
		switch (option) {
		case 'i':
			arguments->interface = optarg;
			break;
		case 'a':
			arguments->address = optarg;
			break;
		case 'p':
			arguments->port = optarg;
			break;
		case 'P':
			arguments->peers = optarg;
			break;
		case 'x':
			arguments->muxes = optarg;
			break;
		case 'v':
			arguments->servers = optarg;
			break;
		case 'c':
			arguments->config = optarg;
			break;
		case 't':
			arguments->tag_key = optarg;
			break;
		case 's':
			arguments->ipip_service = optarg;
			break;
		case 'q':
			arguments->quiet = optarg;
			break;
		case 'u':
			arguments->untagged = optarg;
			break;
		case 'V':
			arguments->services = optarg;
			break;
		case 'S':
			err = set_service(arguments, optarg);
			break;
		case 'M':
			arguments->mangle = true;
			break;
		case 'n':
			arguments->no_chaining = true;
			break;
		case 'm':
			err = set_mode(arguments, optarg);
			break;
		case 'f':
			err = arguments_form(optarg, &arguments->form);
			break;
		case 'o':
			err = set_format(arguments, optarg);
			break;
		}
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

	*config = config_default;
	if (arguments->config)
		err = config_read_file(config, arguments->config);
	if (!err && arguments->address)
		err = config_set_address(config, "--address", arguments->address);
	if (!err && arguments->port)
		err = config_set_port(config, "--port", arguments->port);
	if (!err && arguments->peers)
		err = config_set_peers(config, "--peers", arguments->peers);
	if (!err && arguments->muxes)
		err = config_set_muxes(config, "--muxes", arguments->muxes);
	if (!err && arguments->servers)
		err = config_set_servers(config, "--servers", arguments->servers);
	if (!err && arguments->tag_key)
		err = config_set_tag_key(config, "--tag-key", arguments->tag_key);
	if (!err && arguments->ipip_service)
		err = config_set_ipip_service(config, "--ipip-service", arguments->ipip_service);
	if (!err && arguments->quiet)
		err = config_set_quiet(config, "--quiet", arguments->quiet);
	if (!err && arguments->untagged)
		err = config_set_untagged(config, "--untagged", arguments->untagged);
	if (!err && arguments->no_chaining)
		config->program.chaining = 0;
	if (!err && arguments->mangle)
		config->program.mangle = 1;
	if (!err)
		err = config_check(config);
	return err ? err : arguments->form->check_config(config);
}
