// SPDX-License-Identifier: Apache-2.0
/*
 * fairlead-server: attaches, detaches and shows the server side, makes it forget a service, makes a server's keys, prepares
 * the host for MPTCP, and reports the host's connections.
 * Exit codes: 0 success, 1 refused or failed (with a printed reason), 2 wrong usage.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "form.h"

static const char usage[] =
    "usage: fairlead-server attach --interface IF --address IP[,IP] --peers PREFIX,...\n"
    "                              --tag-key FILE | --untagged on\n"
    "                              [--muxes PREFIX,...] [--servers PREFIX,...] [--port PORT] [--no-chaining]\n"
    "                              [--mode native|generic|auto] [--config FILE.json] [--quiet SECONDS]\n"
    "                              [--flood-rate PACKETS]\n"
    "       fairlead-server detach --interface IF\n"
    "       fairlead-server show   --interface IF [-o table|json|prometheus]\n"
    "       fairlead-server forget --interface IF --service ID\n"
    "       fairlead-server keys   --tag-key FILE --address IP,... --services ID,...\n"
    "       fairlead-server --help | --version\n"
    "       with --form module in place of --interface IF: the kernel module, for all interfaces\n"
    "\n"
    "Receives the packets that Fairlead's muxes send to ADDRESS in GUE, or by segment routing. Delivers\n"
    "packets of new connections and of connections of this host, and sends others on to the next server\n"
    "that they name.\n"
    "\n"
    "  --address   this server's own address, the outer destination of its packets; or one of each family\n"
    "  --peers     prefixes of muxes and of other servers: who may send, and may be sent to\n"
    "  --muxes     prefixes of muxes alone, which are never sent to\n"
    "  --servers   prefixes of servers alone, whose notices are refused\n"
    "  --port      UDP port of GUE (6080)\n"
    "  --tag-key   file, mode 0600, with the keys of this server (`keys`) or the cluster's: packets without a\n"
    "              right tag are dropped\n"
    "  --untagged on   in place of it: whoever can send from a peer's address decides where connections go\n"
    "  --ipip-service ID   with --form module: also receives the paper's IPIP format, for this service\n"
    "  --quiet     how many seconds after attach packets that no server knows are dropped, not reset (70):\n"
    "              10 more than --behind-seconds of fairlead-mux\n"
    "  --flood-rate    packets a second and processor (1000000) that other servers send here and that this one\n"
    "              sends on; beyond it they are dropped; 0: no limit\n"
    "  --mangle    with --form module: for applications that listen on ADDRESS and not on the VIP\n"
    "  --service   forget the generation of the service with this id\n"
    "  --services  ids of the services whose keys a server gets\n"
    "  --config    JSON with the keys address, port, peers, muxes, servers, tagKeyFile, untagged, chaining,\n"
    "              ipipService, mangle, quietSeconds, floodRate; flags override it\n"
    "\n"
    "Attaching again replaces configuration and program without a gap, and keeps generations and\n"
    "counters. Packets are sent on by the kernel's routes: net.ipv4.conf.IF.forwarding must be 1,\n"
    "for an IPv6 address net.ipv6.conf.all.forwarding and net.ipv6.conf.IF.forwarding, for both families\n"
    "also net.ipv4.conf.IF.accept_local.\n"
    "`keys` prints the file of a server, from one with the cluster's key, which servers need not have.\n";

static int attach(const struct arguments *arguments)
{
	static struct config config;
	int err = arguments_config(arguments, &config);

	if (err) {
		config_close(&config);
		return EXIT_USAGE;
	}
	err = arguments->form->attach(arguments, &config);
	config_close(&config);
	return err ? EXIT_REFUSED : EXIT_DONE;
}

static int keys(const struct arguments *arguments)
{
	return derive_print(arguments) ? EXIT_USAGE : EXIT_DONE;
}

static int detach(const struct arguments *arguments)
{
	return arguments->form->detach(arguments) ? EXIT_REFUSED : EXIT_DONE;
}

static int forget(const struct arguments *arguments)
{
	const char *where = arguments->interface ? arguments->interface : "module";
	fl_u32 generation = 0;

	if (arguments->form->forget(arguments, &generation))
		return EXIT_REFUSED;
	if (!generation) {
		fprintf(stderr, "fairlead-server: %s: nothing is known of service %lu\n", where, arguments->service);
		return EXIT_REFUSED;
	}
	printf("%s: forgot service %lu: generation %u; the next packet or notice teaches it again\n", where,
	       arguments->service, generation);
	return EXIT_DONE;
}

static int show(const struct arguments *arguments)
{
	json_t *document;

	if (arguments->form->show(arguments, &document))
		return EXIT_REFUSED;
	document_print(document, arguments->format);
	json_decref(document);
	return EXIT_DONE;
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
			{"forget", ARGUMENTS_FORGET, forget},
			{"keys", ARGUMENTS_KEYS, keys}};
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
