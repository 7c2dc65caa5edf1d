/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real connections for the agent's benchmark, within one network namespace: holds some to VIP:PORT, then opens and
 * closes others one by one as fast as it can.
 *
 *	agent_connections VIP PORT HELD
 *
 * Clients have addresses of 198.18.0.0/15, which the namespace must have as its own. Prints "held" once they are open;
 * for each line on standard input then churns for that many seconds and prints how many were opened and closed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	CLIENT_PORTS = 20000, /* of each client address */
	BACKLOG = 4096,
	OF_A_PROCESS = 8000, /* connections held: two files each, of 20,000 that a process may usually have */
};

static struct sockaddr_in vip;
static int listener;

static void die(const char *what)
{
	fprintf(stderr, "agent_connections: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* One connection: both ends. */
static void open_one(unsigned number, int ends[2])
{
	struct sockaddr_in client = {.sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(0xc6120001 + number / CLIENT_PORTS)};
	static const struct linger reset = {1, 0};
	int one = 1;

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (ends[0] < 0 || setsockopt(ends[0], IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one)) ||
	    setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ||
	    bind(ends[0], (struct sockaddr *)&client, sizeof(client)))
		die("socket");
	if (connect(ends[0], (struct sockaddr *)&vip, sizeof(vip)))
		die("connect");
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (ends[1] < 0)
		die("accept");
}

/* Opens connections in a process of their own, which lives as long as this one. */
static void hold(unsigned first, unsigned count)
{
	int done[2], ends[2];
	char byte = 0;
	pid_t child;

	if (pipe(done))
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; i < count; i++)
			open_one(first + i, ends);
		if (write(done[1], &byte, 1) != 1)
			die("write");
		for (;;)
			pause();
	}
	close(done[1]);
	if (read(done[0], &byte, 1) != 1)
		die("a process that holds connections has ended");
	close(done[0]);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static unsigned long churn(unsigned held, double seconds)
{
	double end = now() + seconds;
	unsigned long count = 0;
	int ends[2];

	while (now() < end) {
		for (int i = 0; i < 100; i++, count++) {
			open_one(held + CLIENT_PORTS + (unsigned)(count % 1000000), ends);
			close(ends[0]); /* a RST: nothing is left in TIME_WAIT */
			close(ends[1]);
		}
	}
	return count;
}

int main(int argc, char **argv)
{
	double seconds;
	int one = 1;
	unsigned held;

	if (argc != 4)
		die("wrong arguments; allowed: VIP PORT HELD");
	held = (unsigned)atol(argv[3]);
	vip.sin_family = AF_INET;
	vip.sin_port = htons((in_port_t)atol(argv[2]));
	if (inet_pton(AF_INET, argv[1], &vip.sin_addr) != 1)
		die(argv[1]);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listener, (struct sockaddr *)&vip, sizeof(vip)) || listen(listener, BACKLOG))
		die("listen");
	for (unsigned i = 0; i < held; i += OF_A_PROCESS)
		hold(i, held - i < OF_A_PROCESS ? held - i : OF_A_PROCESS);
	printf("held\n");
	fflush(stdout);
	while (scanf("%lf", &seconds) == 1) {
		printf("%lu\n", churn(held, seconds));
		fflush(stdout);
	}
	return 0;
}
