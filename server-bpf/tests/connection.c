// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include <errno.h>
#include <net/ethernet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sockets.h"

enum {
	ANSWER_MILLISECONDS = 30000, /* on a busy host; else a few */
	POLL_MILLISECONDS = 5,
	TRIES = 100,
	STATE_ESTABLISHED = 1,
	STATE_TIME_WAIT = 6,
};

struct connection {
	int client, server, wire;
	bool is_fin_sent;       /* the server's */
	fl_u32 fin;             /* what acknowledges it */
	struct packet_tcp last; /* the client's last segment, and what its next one has as its sequence */
};

static void give_up(const char *what)
{
	fprintf(stderr, "connection: %s: %s\n", what, strerror(errno));
	exit(1);
}

static fl_u64 milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (fl_u64)now.tv_sec * 1000 + (fl_u64)now.tv_nsec / 1000000;
}

/* Notes what a frame tells of the connection. */
static void segment_note(struct connection *c, const fl_u8 *frame, size_t len)
{
	bool ipv4 = fl_address_is_ipv4(&c->last.flow.source);
	const fl_u8 *ip = frame + FL_ETHERNET_LEN, *tcp = ip + (ipv4 ? 20 : 40);
	const struct packet_flow *flow = &c->last.flow;
	fl_u32 next;
	size_t end;

	if (len < (size_t)(tcp - frame) + 20 || fl_load_be16(frame + 12) != (ipv4 ? ETHERTYPE_IP : ETHERTYPE_IPV6) ||
	    ip[ipv4 ? 9 : 6] != 6)
		return;
	end = ipv4 ? fl_load_be16(ip + 2) : 40U + fl_load_be16(ip + 4);
	next = fl_load_be32(tcp + 4) + (fl_u32)(end - (size_t)(tcp - ip) - (size_t)(tcp[12] >> 4) * 4);
	next += !!(tcp[13] & TCP_SYN) + !!(tcp[13] & TCP_FIN);
	if (fl_load_be16(tcp) == flow->source_port && fl_load_be16(tcp + 2) == flow->destination_port) {
		c->last.sequence = next;
		c->last.acknowledgement = fl_load_be32(tcp + 8);
	} else if (fl_load_be16(tcp + 2) == flow->source_port && fl_load_be16(tcp) == flow->destination_port &&
		   tcp[13] & TCP_FIN) {
		c->is_fin_sent = true;
		c->fin = next;
	}
}

/* Notes what is on the wire; waits for some of it for a moment. */
static void wire_read(struct connection *c)
{
	struct pollfd wire = {.fd = c->wire, .events = POLLIN};
	fl_u8 frame[PACKET_MAX];
	ssize_t len;

	if (poll(&wire, 1, POLL_MILLISECONDS) != 1)
		return;
	while ((len = recv(c->wire, frame, sizeof(frame), MSG_DONTWAIT)) > 0)
		segment_note(c, frame, (size_t)len);
}

/* The state of the server's socket, as the kernel lists it; 0: none. */
static unsigned int server_state(const struct connection *c)
{
	const struct packet_flow *flow = &c->last.flow;
	unsigned int state, local, remote, found = 0;
	char line[512];
	FILE *file = fopen(fl_address_is_ipv4(&flow->source) ? "/proc/net/tcp" : "/proc/net/tcp6", "re");

	if (!file)
		give_up("/proc/net/tcp");
	while (fgets(line, sizeof(line), file)) /* slot, both ends, state */
		if (sscanf(line, "%*s %*[0-9A-F]:%x %*[0-9A-F]:%x %x", &local, &remote, &state) == 3 &&
		    local == flow->destination_port && remote == flow->source_port)
			found = state;
	fclose(file);
	return found;
}

static struct connection connection_make(const struct connection_ends *ends)
{
	struct connection c = {.wire = sockets_sniff("lo")};

	c.client = sockets_bind(SOCK_STREAM, ends->client_protocol, &ends->client, 0);
	c.last.flow = (struct packet_flow){ends->client, ends->vip, 0, ends->port};
	c.last.flags = TCP_ACK;
	sockets_connect(c.client, &ends->vip, ends->port);
	c.last.flow.source_port = sockets_port(c.client);
	c.server = accept(ends->listener, NULL, NULL);
	if (c.server < 0)
		give_up("accept");
	return c;
}

struct packet_tcp connection_establish(const struct connection_ends *ends)
{
	struct connection c = connection_make(ends);
	fl_u64 deadline = milliseconds() + ANSWER_MILLISECONDS;

	while (!c.last.acknowledgement || server_state(&c) != STATE_ESTABLISHED) {
		if (milliseconds() > deadline)
			give_up("no connection was established");
		wire_read(&c);
	}
	wire_read(&c);
	close(c.wire);
	return c.last;
}

/* Whether it came to it: if both ends close at the same time, none may keep one. */
static bool time_wait_make(const struct connection_ends *ends, struct packet_tcp *last)
{
	struct connection c = connection_make(ends);
	struct pollfd closed = {.fd = c.client, .events = POLLIN};
	fl_u64 deadline = milliseconds() + ANSWER_MILLISECONDS;
	unsigned int state;

	close(c.server);
	if (poll(&closed, 1, ANSWER_MILLISECONDS) != 1)
		give_up("the server's FIN");
	close(c.client);
	do {
		if (milliseconds() > deadline)
			give_up("a closed connection did not end");
		wire_read(&c);
		state = server_state(&c);
	} while (state && (state != STATE_TIME_WAIT || !c.is_fin_sent || c.last.acknowledgement != c.fin));
	close(c.wire);
	*last = c.last;
	return state;
}

struct packet_tcp connection_time_wait(const struct connection_ends *ends)
{
	struct packet_tcp last;
	int i;

	for (i = 0; i < TRIES; i++)
		if (time_wait_make(ends, &last))
			return last;
	fprintf(stderr, "connection: no server kept a TIME-WAIT in %d tries\n", TRIES);
	exit(1);
}
