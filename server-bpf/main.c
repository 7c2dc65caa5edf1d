// SPDX-License-Identifier: Apache-2.0
/*
 * fairlead-server: attaches, detaches and shows the server side of an interface.
 * Exit codes: 0 done, 1 refused or failed (a sentence says why), 2 bad usage.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "host.h"
#include "program.h"
#include "running.h"
#include "show.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_REFUSED = 1,
	EXIT_USAGE = 2,
};

struct arguments {
	const char *interface;
	const char *address, *port, *window, *peers, *config;
	bool no_chaining;
	enum program_mode mode;
	enum show_format format;
};

static const char usage[] =
    "usage: fairlead-server attach --interface IF --address IPv4 --peers PREFIX,...\n"
    "                              [--window SECONDS] [--port PORT] [--no-chaining]\n"
    "                              [--mode native|generic|auto] [--config FILE.json]\n"
    "       fairlead-server detach --interface IF\n"
    "       fairlead-server show   --interface IF [-o table|json]\n"
    "\n"
    "Takes packets that Fairlead's muxes send to ADDRESS by GUE: decapsulates those of this\n"
    "host's connections and new ones, and passes others on to the server that had them before.\n"
    "\n"
    "  --address   this server's own address: outer destination of its packets\n"
    "  --peers     who may send: prefixes of the muxes and of the other servers\n"
    "  --window    how long a bucket is chained after it moved (240)\n"
    "  --port      UDP port of GUE (6080)\n"
    "  --config    JSON with the keys address, port, windowSeconds, peers, chaining; flags win\n"
    "\n"
    "attach again changes the configuration or the program without a gap, and keeps memory and\n"
    "counters. Chaining asks the kernel for routes: net.ipv4.conf.IF.forwarding must be 1.\n";

static int refuse(const char *field, const char *value, const char *allowed)
{
	fprintf(stderr, "fairlead-server: %s: '%s' is not allowed; allowed: %s\n", field, value, allowed);
	return -EINVAL;
}

static int set_mode(struct arguments *arguments, const char *text)
{
	if (!strcmp(text, "auto"))
		arguments->mode = PROGRAM_AUTO;
	else if (!strcmp(text, "native"))
		arguments->mode = PROGRAM_NATIVE;
	else if (!strcmp(text, "generic"))
		arguments->mode = PROGRAM_GENERIC;
	else
		return refuse("--mode", text, "native, generic, auto");
	return 0;
}

static int set_format(struct arguments *arguments, const char *text)
{
	if (!strcmp(text, "json"))
		arguments->format = SHOW_JSON;
	else if (strcmp(text, "table"))
		return refuse("-o", text, "table, json");
	return 0;
}

static int arguments_parse(int argc, char **argv, bool attach, bool show, struct arguments *arguments)
{
	static const struct option options[] = {
	    {"interface", required_argument, NULL, 'i'}, {"address", required_argument, NULL, 'a'},
	    {"port", required_argument, NULL, 'p'},      {"window", required_argument, NULL, 'w'},
	    {"peers", required_argument, NULL, 'P'},     {"config", required_argument, NULL, 'c'},
	    {"no-chaining", no_argument, NULL, 'n'},     {"mode", required_argument, NULL, 'm'},
	    {"output", required_argument, NULL, 'o'},    {0},
	};
	int option, err = 0;

	while (!err && (option = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		if (option == '?' || (option == 'o' && !show) || (option != 'i' && option != 'o' && !attach))
			return option == '?' ? -EINVAL : refuse(argv[0], argv[optind - 1], "the flags of --help");
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
		case 'w':
			arguments->window = optarg;
			break;
		case 'P':
			arguments->peers = optarg;
			break;
		case 'c':
			arguments->config = optarg;
			break;
		case 'n':
			arguments->no_chaining = true;
			break;
		case 'm':
			err = set_mode(arguments, optarg);
			break;
		case 'o':
			err = set_format(arguments, optarg);
			break;
		}
	}
	if (!err && optind < argc)
		err = refuse(argv[0], argv[optind], "flags only");
	if (!err && !arguments->interface)
		err = refuse("--interface", "", "the name of an interface");
	return err;
}

static int config_build(const struct arguments *arguments, struct config *config)
{
	int err = 0;

	*config = config_default;
	if (arguments->config)
		err = config_read_file(config, arguments->config);
	if (!err && arguments->address)
		err = config_set_address(config, "--address", arguments->address);
	if (!err && arguments->port)
		err = config_set_port(config, "--port", arguments->port);
	if (!err && arguments->window)
		err = config_set_window(config, "--window", arguments->window);
	if (!err && arguments->peers)
		err = config_set_peers(config, "--peers", arguments->peers);
	if (!err && arguments->no_chaining)
		config->program.chaining = 0;
	return err ? err : config_check(config);
}

static int attach(const struct arguments *arguments)
{
	static struct config config;
	struct running running;
	int err;

	if (config_build(arguments, &config))
		return EXIT_USAGE;
	config.program.redirect = host_needs_redirect(arguments->interface);
	err = running_open(&running, arguments->interface);
	if (!err)
		err = host_check(&config, running.interface);
	if (!err)
		err = program_attach(&running, &config, arguments->mode);
	running_close(&running);
	return err ? EXIT_REFUSED : EXIT_DONE;
}

static int detach(const struct arguments *arguments)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = program_detach(&running);
	running_close(&running);
	return err ? EXIT_REFUSED : EXIT_DONE;
}

static int show(const struct arguments *arguments)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = running_check(&running);
	if (!err)
		err = show_print(&running, arguments->format);
	running_close(&running);
	return err ? EXIT_REFUSED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const struct arguments *arguments);
	} commands[] = {{"attach", attach}, {"detach", detach}, {"show", show}};
	struct arguments arguments = {0};
	size_t i;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(usage, stdout);
		return EXIT_DONE;
	}
	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		if (arguments_parse(argc - 1, argv + 1, commands[i].run == attach, commands[i].run == show, &arguments))
			return EXIT_USAGE;
		return commands[i].run(&arguments);
	}
	fputs(usage, stderr);
	return EXIT_USAGE;
}
