/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bulk transfer over TCP between two network namespaces, and its cost for each processor. server_module runs it in a
 * virtual machine with two processors:
 *
 *	bulk CLIENT-NAMESPACE SERVER-NAMESPACE ADDRESS MEGABYTES
 *
 * The sender is pinned to processor 0, the receiver to processor 1. Prints one JSON object: seconds, and the seconds
 * that each processor was busy meanwhile, by /proc/stat.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	PORT = 80,
	CHUNK = 65536,
	MEGABYTES_MAX = 100000,
	PROCESSORS = 2,
};

static void die(const char *what)
{
	fprintf(stderr, "bulk: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* From now on this thread runs only on that processor, and its new sockets are in that namespace. */
static void enter(const char *namespace, int processor)
{
	char path[128];
	cpu_set_t set;
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static int socket_make(void)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("socket");
	return fd;
}

struct receiver {
	const char *namespace;
	struct sockaddr_in address;
	pthread_barrier_t listens;
};

/* Reads one connection to its end; returns the number of bytes. */
static void *receive(void *state)
{
	static char chunk[CHUNK];
	struct receiver *receiver = state;
	int listener, fd;
	size_t bytes = 0;
	ssize_t got;

	enter(receiver->namespace, 1);
	listener = socket_make();
	if (bind(listener, (struct sockaddr *)&receiver->address, sizeof(receiver->address)) || listen(listener, 1))
		die("listen");
	pthread_barrier_wait(&receiver->listens);
	fd = accept(listener, NULL, NULL);
	while ((got = recv(fd, chunk, sizeof(chunk), 0)) > 0)
		bytes += (size_t)got;
	if (got < 0)
		die("recv");
	close(fd);
	close(listener);
	return (void *)bytes;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Seconds since the start that a processor was neither idle nor waiting: user, nice, system, irq, softirq. */
static double seconds_busy(int processor)
{
	unsigned long long user, nice, system, idle, wait, irq, softirq;
	char line[256], wanted[16];
	double busy = -1;
	FILE *file = fopen("/proc/stat", "re");

	snprintf(wanted, sizeof(wanted), "cpu%d ", processor);
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, wanted, strlen(wanted)) ||
		    sscanf(line + strlen(wanted), "%llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
			   &wait, &irq, &softirq) != 7)
			continue;
		busy = (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
	}
	if (busy < 0)
		die("/proc/stat");
	fclose(file);
	return busy;
}

static void send_all(int fd, size_t bytes)
{
	static const char chunk[CHUNK];

	while (bytes) {
		ssize_t sent = send(fd, chunk, bytes < CHUNK ? bytes : CHUNK, MSG_NOSIGNAL);

		if (sent < 0)
			die("send");
		bytes -= (size_t)sent;
	}
	shutdown(fd, SHUT_WR);
}

int main(int argc, char **argv)
{
	struct receiver receiver = {.address = {.sin_family = AF_INET, .sin_port = htons(PORT)}};
	double begin, seconds, busy[PROCESSORS];
	unsigned long megabytes;
	pthread_t thread;
	void *received;
	int fd, i;

	megabytes = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
	if (megabytes < 1 || megabytes > MEGABYTES_MAX ||
	    inet_pton(AF_INET, argv[3], &receiver.address.sin_addr) != 1) {
		fprintf(stderr, "usage: bulk CLIENT-NAMESPACE SERVER-NAMESPACE IPV4-ADDRESS MEGABYTES, 1 to %d\n",
			MEGABYTES_MAX);
		return 2;
	}
	receiver.namespace = argv[2];
	pthread_barrier_init(&receiver.listens, NULL, 2);
	pthread_create(&thread, NULL, receive, &receiver);
	pthread_barrier_wait(&receiver.listens);
	enter(argv[1], 0);
	fd = socket_make();
	if (connect(fd, (struct sockaddr *)&receiver.address, sizeof(receiver.address)))
		die("connect");
	begin = seconds_now();
	for (i = 0; i < PROCESSORS; i++)
		busy[i] = seconds_busy(i);
	send_all(fd, megabytes * 1000000);
	pthread_join(thread, &received);
	seconds = seconds_now() - begin;
	for (i = 0; i < PROCESSORS; i++)
		busy[i] = seconds_busy(i) - busy[i];
	close(fd);
	if ((size_t)received != megabytes * 1000000) {
		fprintf(stderr, "bulk: %zu bytes arrived of %lu MB\n", (size_t)received, megabytes);
		return 1;
	}
	printf("{\"seconds\": %.6f, \"senderBusy\": %.2f, \"receiverBusy\": %.2f}\n", seconds, busy[0], busy[1]);
	return 0;
}
