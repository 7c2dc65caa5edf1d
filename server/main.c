// SPDX-License-Identifier: Apache-2.0
/*
 * fairlead-server: attaches, detaches and shows the server side, makes it forget a service, prepares the host for MPTCP,
 * and reports the host's connections.
 * Exit codes: 0 success, 1 refused or failed (with a printed reason), 2 wrong usage.
 */
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "arguments.h"
#include "form.h"
#include "mptcp.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_REFUSED = 1,
	EXIT_USAGE = 2,
};

static const char usage[] =
    "usage: fairlead-server attach --interface IF --address IP[,IP] --peers PREFIX,...\n"
    "                              [--window SECONDS] [--port PORT] [--tag-key FILE] [--no-chaining]\n"
    "                              [--mode native|generic|auto] [--config FILE.json] [--quiet SECONDS]\n"
    "                              [--clock-error SECONDS]\n"
    "       fairlead-server detach --interface IF\n"
    "       fairlead-server show   --interface IF [-o table|json|prometheus]\n"
    "       fairlead-server forget --interface IF --service ID\n"
    "       fairlead-server --help | --version\n"
    "       with --form module in place of --interface IF: the kernel module, for all interfaces\n"
    "\n"
    "Receives the packets that Fairlead's muxes send to ADDRESS in GUE. Delivers packets of new\n"
    "connections and of connections of this host, and chains others to the previous server.\n"
    "\n"
    "  --address   this server's own address, the outer destination of its packets; or one of each family\n"
    "  --peers     trusted senders: prefixes of the muxes and of the other servers\n"
    "  --window    how many seconds a bucket is chained after it moved (240)\n"
    "  --port      UDP port of GUE (6080)\n"
    "  --tag-key   file with the cluster's key, 32 hex digits, mode 0600: packets without its tag are dropped\n"
    "  --ipip-service ID   with --form module: also receives the paper's IPIP format, for this service\n"
    "  --quiet     how many seconds after attach unknown packets that name further servers are dropped,\n"
    "              not reset (70): 10 more than --behind-seconds of fairlead-mux\n"
    "  --clock-error  offset of the program's clock, for fault injection only\n"
    "  --mangle    with --form module: for applications that listen on ADDRESS and not on the VIP\n"
    "  --service   forget the generation and the moves of the service with this id\n"
    "  --config    JSON with the keys address, port, windowSeconds, peers, tagKeyFile, chaining, ipipService,\n"
    "              mangle, quietSeconds; flags override it\n"
    "\n"
    "Attaching again replaces configuration and program without a gap, and keeps memory and\n"
    "counters. Chaining uses the kernel's routes: net.ipv4.conf.IF.forwarding must be 1,\n"
    "for an IPv6 address net.ipv6.conf.all.forwarding and net.ipv6.conf.IF.forwarding, for both families\n"
    "also net.ipv4.conf.IF.accept_local.\n";

static int attach(const struct arguments *arguments)
{
	static struct config config;

	if (arguments_config(arguments, &config))
		return EXIT_USAGE;
	return arguments->form->attach(arguments, &config) ? EXIT_REFUSED : EXIT_DONE;
}

static int detach(const struct arguments *arguments)
{
	return arguments->form->detach(arguments) ? EXIT_REFUSED : EXIT_DONE;
}

static int forget(const struct arguments *arguments)
{
	return arguments->form->forget(arguments) ? EXIT_REFUSED : EXIT_DONE;
}

static int show(const struct arguments *arguments)
{
	return arguments->form->show(arguments) ? EXIT_REFUSED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum arguments_of of;
		int (*run)(const struct arguments *arguments);
	} commands[] = {{"attach", ARGUMENTS_ATTACH, attach},
			{"detach", ARGUMENTS_DETACH, detach},
			{"show", ARGUMENTS_SHOW, show},
			{"forget", ARGUMENTS_FORGET, forget}};
	struct arguments arguments = {0};
	size_t i;

	/* Also after a command: the help is of all of them. */
	if (argc > 1 && (!strcmp(argv[argc - 1], "--help") || !strcmp(argv[argc - 1], "-h"))) {
		fputs(usage, stdout);
		fputs(mptcp_help, stdout);
		fputs(agent_help, stdout);
		return EXIT_DONE;
	}
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("fairlead-server " FAIRLEAD_VERSION);
		return EXIT_DONE;
	}
	if (argc > 1 && !strcmp(argv[1], "mptcp"))
		return mptcp_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "agent"))
		return agent_main(argc - 1, argv + 1);
	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		if (arguments_parse(&arguments, argc - 1, argv + 1, commands[i].of))
			return EXIT_USAGE;
		return commands[i].run(&arguments);
	}
	fputs(usage, stderr);
	fputs(mptcp_help, stderr);
	fputs(agent_help, stderr);
	return EXIT_USAGE;
}
