/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs an agent to read how busy its server is. In a network namespace with real connections, of which an
 * eighth is in work: to count these by the eBPF program and by sock_diag, in turns; then the other sources.
 *
 *	agent_readings CONNECTIONS READINGS SOURCE...
 *
 * Prints one JSON object; times are of the processor, the kernel's part included, and for sources also until the end. Connections are from 198.18.0.0/15 to
 * 10.99.0.1:443, which the namespace must have as its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/source.h"
#include "agent/work.h"

enum {
	PORT = 443,
	BACKLOG = 4096,
	OF_A_CLIENT = 20000,
	IN_WORK = 8, /* one of so many */
	DEADLINE_MS = 1000,
};

static const char document[] =
    "{\"format\": 1, \"version\": \"1\", \"services\": [{\"name\": \"web\", \"id\": 1, \"vips\": [\"10.99.0.1\"], "
    "\"ports\": [{\"protocol\": \"tcp\", \"port\": 443}], \"buckets\": 256, \"hash\": \"siphash\", \"hashKey\": "
    "\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"backends\": [{\"id\": 7, \"address\": "
    "\"10.2.0.7\"}]}]}";

static void die(const char *what)
{
	fprintf(stderr, "agent_readings: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void open_all(unsigned connections)
{
	struct sockaddr_in vip = {.sin_family = AF_INET, .sin_port = htons(PORT)}, client = {.sin_family = AF_INET};
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	inet_pton(AF_INET, "10.99.0.1", &vip.sin_addr);
	if (listener < 0 || bind(listener, (struct sockaddr *)&vip, sizeof(vip)) || listen(listener, BACKLOG))
		die("listen");
	for (unsigned i = 0; i < connections; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		client.sin_addr.s_addr = htonl(0xc6120001 + i / OF_A_CLIENT);
		if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one)) ||
		    bind(fd, (struct sockaddr *)&client, sizeof(client)) ||
		    connect(fd, (struct sockaddr *)&vip, sizeof(vip)) || accept(listener, NULL, NULL) < 0)
			die("connect");
		if (i % IN_WORK == 0 && send(fd, "request", 7, 0) != 7)
			die("send");
	}
}

static double reading(struct work *work, const struct services *services, unsigned connections)
{
	fl_u32 count = 0;
	double begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
	int err = work_read(work, services, 1, &count);

	begun = seconds(CLOCK_PROCESS_CPUTIME_ID) - begun;
	if (err || count != (connections + IN_WORK - 1) / IN_WORK) {
		fprintf(stderr, "agent_readings: %u of %u connections in work (%s)\n", count, connections,
			strerror(-err));
		exit(1);
	}
	return begun;
}

static void other(const char *text, const struct services *services, unsigned readings)
{
	char why[FIGURES_WHY_MAX];
	struct source_choice choice;
	struct source *source = source_choose(text, &choice) ? NULL : source_open(&choice, true, why);
	double cpu, wall;
	fl_u32 busy;

	if (!source)
		die(text);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	wall = seconds(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < readings; i++)
		if (!source_read(source, services, (fl_u64)(seconds(CLOCK_MONOTONIC) * 1e9), DEADLINE_MS, &busy, why))
			die(why);
	printf(", \"%.*s\": {\"cpuUs\": %.1f, \"us\": %.1f}", (int)strcspn(text, "="), text,
	       (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / readings * 1e6,
	       (seconds(CLOCK_MONOTONIC) - wall) / readings * 1e6);
	source_close(source);
}

int main(int argc, char **argv)
{
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};
	unsigned connections = argc > 2 ? (unsigned)atoi(argv[1]) : 0,
		 readings = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	struct services *services = services_read(document, strlen(document), &plain);
	struct work *program = work_open(true), *diag = work_open(false);
	double by_program = 0, by_diag = 0;

	if (!connections || !readings) {
		fprintf(stderr, "usage: agent_readings CONNECTIONS READINGS SOURCE...\n");
		return 2;
	}
	if (!services || !program || !diag || work_why(program))
		die(program && work_why(program) ? work_why(program) : "cannot list sockets");
	work_serve(program, services);
	open_all(connections);
	for (unsigned i = 0; i < readings; i++) {
		by_program += reading(program, services, connections);
		by_diag += reading(diag, services, connections);
	}
	printf("{\"connections\": %u, \"readings\": %u, \"programUs\": %.1f, \"sockDiagUs\": %.1f", connections,
	       readings, by_program / readings * 1e6, by_diag / readings * 1e6);
	for (int i = 3; i < argc; i++)
		other(argv[i], services, readings);
	printf("}\n");
	work_close(program);
	work_close(diag);
	services_free(services);
	return 0;
}
