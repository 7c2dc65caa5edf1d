/* SPDX-License-Identifier: Apache-2.0 */
#include "hello/hello.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/address.h"

/* The mux may be started before the kernel has its address. */
static int set_options(int fd, int family)
{
	int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	int name = family == AF_INET ? IP_FREEBIND : IPV6_FREEBIND;
	int on = 1, buffer = HELLO_BUFFER;

	if (setsockopt(fd, level, name, &on, sizeof(on)))
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) && /* without the capability: */
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)))
		return -errno;
	return 0;
}

static int open_socket(const struct fl_address *self, uint16_t port)
{
	struct sockaddr_storage address;
	socklen_t len = address_to_socket(self, port, &address);
	int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	error = set_options(fd, address.ss_family);
	if (!error && bind(fd, (const struct sockaddr *)&address, len))
		error = -errno;
	if (error)
		close(fd);
	return error ? error : fd;
}

struct hello *hello_open(const struct fl_address *self, uint16_t port, const struct tag_keys *keys, uint64_t boot,
			 struct reason *why)
{
	struct hello *hello = calloc(1, sizeof(*hello));
	char text[ADDRESS_TEXT_MAX];

	if (!hello || !(hello->peers = hello_peers_new(self, keys))) {
		free(hello);
		reason_set(why, -ENOMEM, "no memory for hellos");
		return NULL;
	}
	hello->fd = open_socket(self, port);
	if (hello->fd < 0) {
		reason_set(why, hello->fd, "--hello: '%u' can't be bound at %s: %s; allowed: a free UDP port, or off",
			   port, address_print(self, text), strerror(-hello->fd));
		hello_peers_free(hello->peers);
		free(hello);
		return NULL;
	}
	hello->port = port;
	hello->has_key = keys;
	if (keys)
		hello->key = keys->current;
	hello->head = (struct hello_head){.sender = *self, .boot = boot};
	hello->seed = (unsigned)boot ^ fl_load_be32(self->bytes + 12);
	return hello;
}

void hello_close(struct hello *hello)
{
	close(hello->fd);
	hello_peers_free(hello->peers);
	free(hello);
}

static void plan_answer(struct hello *hello, uint64_t now_ms)
{
	if (hello->answer_at > now_ms && hello->answer_at < hello->send_at)
		hello->send_at = hello->answer_at;
}

void hello_receive(struct hello *hello, uint64_t now_ms)
{
	hello->now_ms = now_ms;
	for (int i = 0; i < HELLO_RECEIVE_MAX; i++) {
		uint8_t data[HELLO_LEN_MAX];
		struct sockaddr_storage from = {0};
		socklen_t from_len = sizeof(from);
		struct fl_address source;
		ssize_t len = recvfrom(hello->fd, data, sizeof(data), MSG_TRUNC, (struct sockaddr *)&from, &from_len);
		enum hello_error error = HELLO_LENGTH;

		if (len < 0)
			break;
		source = address_of_socket((const struct sockaddr *)&from);
		if ((size_t)len <= sizeof(data)) /* else it is cut off here */
			error = hello_peers_hear(hello->peers, &source, data, (size_t)len, now_ms);
		hello->counters.received++;
		hello->counters.refused[error] += error != HELLO_OK;
	}
	if (hello->peers->starts != hello->starts)
		hello->send_at = now_ms;
	hello->starts = hello->peers->starts;
	if (hello->peers->asks != hello->asks)
		hello->answer_at = now_ms + HELLO_ANSWER_MS;
	hello->asks = hello->peers->asks;
	plan_answer(hello, now_ms);
}

void hello_join(struct hello *hello, const char *cluster)
{
	if (!hello)
		return;
	hello->has_cluster = hello_cluster_parse(cluster, hello->head.cluster);
	hello_peers_join(hello->peers, hello->has_cluster ? hello->head.cluster : NULL);
	if (!hello->has_cluster)
		fprintf(stderr, "mux event=no_hello cluster=%s why=\"not 32 hex digits\"\n", cluster);
}

/* One packet to all peers of this mux's family. */
static void send_packet(struct hello *hello, const struct hello_service *services, unsigned count)
{
	uint8_t data[HELLO_LEN_MAX];
	size_t len;

	hello->head.count = (uint16_t)count;
	hello->head.counter++;
	len = hello_write(&hello->head, services, hello->has_key ? &hello->key : NULL, data);
	for (unsigned i = 0; i < hello->peers->count; i++) {
		const struct fl_address *to = &hello->peers->list[i].node.address;
		struct sockaddr_storage address;
		socklen_t address_len = address_to_socket(to, hello->port, &address);

		if (fl_address_is_ipv4(to) != fl_address_is_ipv4(&hello->head.sender))
			continue;
		if (sendto(hello->fd, data, len, 0, (const struct sockaddr *)&address, address_len) < 0)
			hello->counters.failed++;
		else
			hello->counters.sent++;
	}
}

void hello_send(struct hello *hello, const struct hello_service *services, unsigned count, uint64_t now_ms)
{
	unsigned at = 0;

	hello->send_at = now_ms + HELLO_INTERVAL_MS - (unsigned)rand_r(&hello->seed) % HELLO_JITTER_MS;
	plan_answer(hello, now_ms);
	if (now_ms >= hello->expire_at) {
		hello_peers_expire(hello->peers, now_ms);
		hello->expire_at = now_ms + HELLO_EXPIRE_MS;
	}
	if (!hello->has_cluster)
		return;
	do {
		unsigned some = count - at < HELLO_SERVICES_MAX ? count - at : HELLO_SERVICES_MAX;

		send_packet(hello, services + at, some);
		at += some;
	} while (at < count);
}
