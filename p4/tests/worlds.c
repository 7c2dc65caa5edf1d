/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/encap.h"
#include "layout.h"
#include "port.h"
#include "rack.h"
#include "random_frame.h"
#include "steering/hunt/hunt.h"
#include "steering/maat/maat.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "steering/steering.h"

enum {
	BUCKETS = 1024,
	BACKEND_REMOVED = 39,
	BACKEND_MUX = 40, /* its address is a mux's */
	LONG_AGO = 1000,
	CELLS = 64, /* of an array, so few that both sets often give the same bucket */
};

void world_hop(void *context, const struct fl_address *address, struct next_hop *out)
{
	uint8_t last = address->bytes[15] % 10;

	image_hop(context, address, out);
	if (last == 7)
		*out = (struct next_hop){.resolved = false};
	else if (last == 5)
		out->vlan = 100;
	else if (last == 3 && address->bytes[15] > 20)
		out->mtu = 600;
	else if (last == 2)
		out->port = RACK_FIRST_PORT + 1;
	else if (last == 9)
		out->port = RACK_FIRST_PORT + P4_PORT_WIRES;
}

/* Gives a bucket so many former owners, the newest one this. */
static void set_former(struct delta *snapshot, uint32_t bucket, uint16_t newest, uint32_t count, uint32_t since)
{
	struct history history = {.count = 0};
	uint32_t number;

	for (uint16_t id = newest; history.count < count; id = (uint16_t)(1 + (id + 6) % WORLD_BACKENDS))
		if (id != snapshot->image.current[bucket])
			history_append(&history, id, since);
	assert_int_equal(histories_add(&snapshot->image.histories, &history, &number), 0);
	image_put(&snapshot->image, bucket, snapshot->image.current[bucket], number);
}

/* A third of the buckets moved recently, up to `most` times, a third long ago, a few have no backend; some backends have IPv6. */
static void load(struct tables *tables, const struct service_config *config, bool mixed, uint32_t most, void *data)
{
	struct delta snapshot = image_snapshot(config->id, config->id + 10U, config->buckets, WORLD_BACKENDS);
	struct service *service;
	struct reason why = {{0}};

	for (uint32_t i = 0; i < config->buckets; i++) {
		if (snapshot.image.current[i] == BACKEND_REMOVED || i % 50 == 9)
			image_own(&snapshot, i, FL_BACKEND_NONE);
		if (i % 3)
			set_former(&snapshot, i, (uint16_t)(1 + (i + 7 + i / WORLD_BACKENDS) % WORLD_BACKENDS),
				   1 + i / 3 % most, i % 3 == 1 ? WORLD_NOW - 5 : LONG_AGO);
	}
	set_former(&snapshot, 4, WORLD_BACKENDS + 5, 1, WORLD_NOW - 5); /* a backend that does not exist */
	snapshot.backends[BACKEND_REMOVED - 1].flags = FL_BACKEND_REMOVED;
	for (uint32_t i = 0; mixed && i < WORLD_BACKENDS; i += 2) {
		snapshot.backends[i].address = image_address("2001:db8:1::");
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 21);
	}
	snapshot.backends[BACKEND_MUX - 1].address = image_address(RANDOM_PEER);
	if (tables_add(tables, config, &service, &why) || tables_load(tables, service, &snapshot, data, &why))
		fail_msg("%s", why.text);
	tables_close_windows(tables, WORLD_NOW);
	image_free(&snapshot);
}

static struct othello_pair *arrays_of(struct chance *chance, enum arrays_kind kind, enum fl_hash_kind hash)
{
	bool any = hash == FL_HASH_SIPHASH; /* number of cells */
	struct othello_arrays *newest, *previous = NULL;
	struct othello_pair *pair;

	if (kind == ARRAYS_NONE_YET)
		return NULL;
	newest = image_arrays(chance, 9, any ? CELLS - 5 : CELLS, any ? CELLS / 2 + 3 : CELLS / 2, hash, BUCKETS);
	if (kind == ARRAYS_SAME_PLACES) {
		previous = image_arrays(chance, 5, newest->na, newest->nb, hash, BUCKETS);
		previous->seed = newest->seed;
		for (uint32_t cell = 0; cell < newest->na + newest->nb; cell++)
			if (chance_below(chance, 4))
				image_set_cell(previous, cell, othello_arrays_cell(newest, cell));
	} else if (kind == ARRAYS_OTHER_PLACES) {
		previous = image_arrays(chance, 5, any ? 3 : 4, any ? CELLS + 1 : 1, hash, BUCKETS);
	}
	pair = othello_pair_new(newest, previous, kind == ARRAYS_LOW_BITS_BEFORE);
	assert_non_null(pair);
	return pair;
}

bool world_is_maat(unsigned world)
{
	return world >= WORLD_MAAT && world < WORLD_OTHELLO;
}

/* One of the first service in each pair of worlds without a second bucket or with arrays. */
static bool has_client_affinity(unsigned world)
{
	return (world < WORLD_HUNT || world >= WORLD_OTHELLO) && world & 2;
}

/* As the controller has it, and one more where a packet names both buckets' (docs/p4.md). */
static uint32_t most_of(const struct service_config *config)
{
	if (config->encap == &encap_ipip)
		return 1;
	return config->steering->has_second ? P4_LIST_SECOND_MAX + 1 : FL_LIST_MAX;
}

static void set_othello(struct service_config *config)
{
	config->steering = &steering_othello;
	config->ports_count = 1; /* TCP alone */
	config->hold = 0;
	config->window = 100000;
}

void world_serve(struct tables *tables, unsigned world, struct chance *chance)
{
	struct service_config config;
	struct service *service;
	struct othello_pair *pair;
	struct reason why;

	for (uint16_t id = 1; id <= RANDOM_VIPS; id++) {
		config = image_config(id, random_vips[id - 1], BUCKETS);
		snprintf(config.name, sizeof(config.name), "service%u", id);
		config.window = 100000;
		config.ports_count = 3;
		pair = NULL;
		config.ports[1] = (struct service_port){IPPROTO_UDP, 443};
		config.ports[2] = (struct service_port){IPPROTO_UDP, 53};
		switch (id) {
		case 1:
			config.vips_count = 2;
			config.vips[1] = image_address(random_vips6[0]);
			config.mptcp = (struct mptcp_ports){20000, 20060};
			config.hash = world & 1 ? FL_HASH_CRC32 : FL_HASH_SIPHASH;
			config.affinity = has_client_affinity(world) ? AFFINITY_CLIENT : AFFINITY_CONNECTION;
			config.maat = world & 1 ? (struct maat_settings){MAAT_BYTES, 10, 1000, 524288, 2}
						: (struct maat_settings){MAAT_PACKETS, 10, 1000, 65536, 3};
			config.window = world & 1 ? 100000 : 0;
			config.hold = world & 1 ? 0 : 3600;
			if (world >= WORLD_OTHELLO) {
				set_othello(&config);
				pair = arrays_of(chance, (world - WORLD_OTHELLO) / 2, config.hash);
			} else if (world >= WORLD_HUNT) {
				config.steering = world_is_maat(world) ? &steering_maat : &steering_hunt;
			}
			break;
		case 2:
			config.hash = FL_HASH_CRC32;
			config.affinity = world & 2 ? AFFINITY_CONNECTION : AFFINITY_CLIENT;
			config.mss = 600;
			config.stateless_udp = true;
			break;
		case 3:
			config.encap = &encap_ipip;
			break;
		case 4:
			config.quic = (struct quic_server_id){.offset = 1, .length = 1};
			config.hash = FL_HASH_CRC32;
			if (world & 1)
				config.steering = &steering_hunt;
			break;
		case 5: /* has no ring */
			assert_int_equal(tables_add(tables, &config, &service, &why), 0);
			continue;
		}
		load(tables, &config, id == 1 || id == 2 || id == 6, most_of(&config), pair);
	}
}
