/* SPDX-License-Identifier: Apache-2.0 */
#include "ports.h"

#include <stdlib.h>

/* Ports rest in two queues, as each has a rest of its own: both are in the order of their ends. */
enum queue_number { QUEUE_USUAL, QUEUE_LONG, QUEUES };

struct port {
	void *owner;
	uint64_t rests_until;
	uint32_t next; /* in its queue, UINT32_MAX: the last */
	struct port_path path;
};

struct queue {
	uint32_t head, tail; /* UINT32_MAX: empty */
};

struct ports {
	uint16_t first;
	uint32_t count;
	uint32_t taken;
	struct queue queues[QUEUES];
	struct port list[];
};

static void append(struct ports *ports, enum queue_number number, uint32_t at)
{
	struct queue *queue = &ports->queues[number];

	ports->list[at].next = UINT32_MAX;
	if (queue->head == UINT32_MAX)
		queue->head = at;
	else
		ports->list[queue->tail].next = at;
	queue->tail = at;
}

struct ports *ports_new(uint16_t first, uint16_t last)
{
	uint32_t count = (uint32_t)last - first + 1;
	struct ports *ports = calloc(1, sizeof(*ports) + count * sizeof(ports->list[0]));

	if (!ports)
		return NULL;
	ports->first = first;
	ports->count = count;
	for (int i = 0; i < QUEUES; i++)
		ports->queues[i].head = UINT32_MAX;
	for (uint32_t i = 0; i < count; i++)
		append(ports, QUEUE_USUAL, i);
	return ports;
}

void ports_free(struct ports *ports)
{
	free(ports);
}

uint16_t ports_take(struct ports *ports, void *owner, uint64_t now_ms)
{
	struct queue *best = NULL;
	struct port *port;
	uint32_t at;

	for (int i = 0; i < QUEUES; i++) {
		struct queue *queue = &ports->queues[i];

		if (queue->head != UINT32_MAX &&
		    (!best || ports->list[queue->head].rests_until < ports->list[best->head].rests_until))
			best = queue;
	}
	if (!best || ports->list[best->head].rests_until > now_ms)
		return 0;
	at = best->head;
	port = &ports->list[at];
	best->head = port->next;
	port->owner = owner;
	ports->taken++;
	return (uint16_t)(ports->first + at);
}

void ports_give(struct ports *ports, uint16_t port, uint64_t now_ms, uint32_t rest_ms)
{
	uint32_t at = (uint32_t)port - ports->first;

	ports->list[at].owner = NULL;
	ports->list[at].rests_until = now_ms + rest_ms;
	ports->taken--;
	append(ports, rest_ms == PORTS_REST_UDP_MS ? QUEUE_LONG : QUEUE_USUAL, at);
}

void *ports_owner(const struct ports *ports, uint16_t port)
{
	uint32_t at = (uint32_t)port - ports->first;

	return port >= ports->first && at < ports->count ? ports->list[at].owner : NULL;
}

struct port_path *ports_path(struct ports *ports, uint16_t port)
{
	uint32_t at = (uint32_t)port - ports->first;

	return port >= ports->first && at < ports->count ? &ports->list[at].path : NULL;
}

uint32_t ports_taken(const struct ports *ports)
{
	return ports->taken;
}
