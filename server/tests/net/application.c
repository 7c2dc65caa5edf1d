/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application behind a VIP:
 *
 *	application NAME tcp PORT ADDRESS...		answers each line with the name, a blank and the line
 *	application NAME udp PORT ADDRESS [CLIENT PORT]	answers each datagram with the name and its length; is
 *							connected to that client if one is given
 *
 * Prints its process id once it listens, and runs until it is killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BACKLOG = 64, /* short: a flood of SYNs must fill it */
	DATAGRAM_MAX = 65536,
};

static const char *name;

static void die(const char *what)
{
	fprintf(stderr, "application: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct addrinfo *address_of(const char *address, const char *port, int type)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = type}, *found;

	if (getaddrinfo(address, port, &hints, &found)) {
		fprintf(stderr, "application: '%s' '%s' is not allowed; allowed: an address and a port\n", address,
			port);
		exit(2);
	}
	return found;
}

static int socket_bound(const char *address, const char *port, int type)
{
	struct addrinfo *found = address_of(address, port, type);
	int one = 1, fd = socket(found->ai_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, found->ai_addr, found->ai_addrlen))
		die(address);
	freeaddrinfo(found);
	return fd;
}

/* One connection, to its end. */
static void *answer(void *state)
{
	int fd = (int)(intptr_t)state;
	FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!in || !out)
		die("fdopen");
	while ((len = getline(&line, &size, in)) > 0) {
		fprintf(out, "%s ", name);
		fwrite(line, 1, (size_t)len, out);
		if (fflush(out))
			break;
	}
	free(line);
	fclose(in);
	fclose(out);
	return NULL;
}

static void *serve_connections(void *state)
{
	int listener = (int)(intptr_t)state;

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (fd < 0)
			continue;
		if (pthread_create(&thread, NULL, answer, (void *)(intptr_t)fd))
			die("pthread_create");
		pthread_detach(thread);
	}
	return NULL;
}

static void listen_at(const char *address, const char *port)
{
	int listener = socket_bound(address, port, SOCK_STREAM);
	pthread_t thread;

	if (listen(listener, BACKLOG))
		die("listen");
	if (pthread_create(&thread, NULL, serve_connections, (void *)(intptr_t)listener))
		die("pthread_create");
}

static void serve_datagrams(int fd)
{
	static char data[DATAGRAM_MAX];

	for (;;) {
		struct sockaddr_storage client;
		socklen_t client_len = sizeof(client);
		char text[64];
		ssize_t len = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&client, &client_len);

		if (len < 0)
			continue;
		len = snprintf(text, sizeof(text), "%s %zd", name, len);
		sendto(fd, text, (size_t)len, 0, (struct sockaddr *)&client, client_len);
	}
}

static int datagrams_open(char **words, int count)
{
	int fd = socket_bound(words[1], words[0], SOCK_DGRAM);

	if (count == 4) {
		struct addrinfo *client = address_of(words[2], words[3], SOCK_DGRAM);

		if (connect(fd, client->ai_addr, client->ai_addrlen))
			die(words[2]);
		freeaddrinfo(client);
	}
	return fd;
}

int main(int argc, char **argv)
{
	bool is_tcp = argc >= 5 && !strcmp(argv[2], "tcp"),
	     is_udp = (argc == 5 || argc == 7) && !strcmp(argv[2], "udp");
	int datagrams = -1, i;

	if (!is_tcp && !is_udp) {
		fprintf(stderr, "usage: application NAME tcp PORT ADDRESS... | udp PORT ADDRESS [CLIENT PORT]\n");
		return 2;
	}
	name = argv[1];
	signal(SIGPIPE, SIG_IGN);
	if (is_udp)
		datagrams = datagrams_open(argv + 3, argc - 3);
	for (i = 4; is_tcp && i < argc; i++)
		listen_at(argv[i], argv[3]);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (is_udp)
		serve_datagrams(datagrams);
	for (;;)
		pause();
}
