/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a service's configuration. A rejected one has a reason and changes nothing. An accepted one is in range,
 * survives a round trip through JSON, and the tables accept it or return a reason: next to an existing service, and as
 * a change of it.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/address.h"
#include "control/config_node.h"
#include "service/tables.h"
#include "encap/encap.h"
#include "steering/steering.h"
#include "../tests/image.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tables *tables;
static struct service *web;

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct service_config config = image_config(1, "10.99.0.1", 256);
	struct reason why;

	(void)argc;
	(void)argv;
	tables = tables_new(1, &image_hops);
	require(tables && !tables_add(tables, &config, &web, &why));
	return 0;
}

static void check_ranges(const struct service_config *c)
{
	require(c->id && !strcmp(c->name, "web"));
	require(c->vips_count >= 1 && c->vips_count <= SERVICE_VIPS_MAX);
	require(c->ports_count >= 1 && c->ports_count <= SERVICE_PORTS_MAX);
	require(c->buckets >= FL_BUCKETS_MIN && c->buckets <= FL_BUCKETS_MAX && !(c->buckets & (c->buckets - 1)));
	require(!c->mss || c->mss >= SERVICE_MSS_MIN);
	require(c->quic.length <= 2 && c->quic.offset <= SERVICE_QUIC_OFFSET_MAX);
	require(!c->mptcp.first == !c->mptcp.last && c->mptcp.first <= c->mptcp.last);
	for (uint32_t i = 0; i < c->vips_count; i++) {
		require(!fl_address_is_none(&c->vips[i]));
		require(strcmp(c->encap->name, "ipip") || fl_address_is_ipv4(&c->vips[i]));
	}
	for (uint32_t i = 0; i < c->ports_count; i++)
		require(c->ports[i].port &&
			(c->ports[i].protocol == IPPROTO_TCP || c->ports[i].protocol == IPPROTO_UDP) &&
			!mptcp_ports_has(&c->mptcp, c->ports[i].protocol, c->ports[i].port));
}

static void put_optional(json_t *object, const struct service_config *c)
{
	if (c->mptcp.last)
		json_object_set_new(object, "mptcpPorts",
				    json_pack("{s:i, s:i}", "first", c->mptcp.first, "last", c->mptcp.last));
	if (c->quic.length)
		json_object_set_new(object, "quicServerId",
				    json_pack("{s:i, s:i}", "offset", c->quic.offset, "length", c->quic.length));
	if (c->mss)
		json_object_set_new(object, "maxSegmentSize", json_integer(c->mss));
}

/* In the form of protocol/README.md section 4. */
static char *write_config(const struct service_config *c)
{
	json_t *vips = json_array(), *ports = json_array(), *object;
	char key[33], text[ADDRESS_TEXT_MAX];
	char *json;

	for (int i = 0; i < 16; i++)
		snprintf(key + 2 * i, 3, "%02x", (unsigned)((i < 8 ? c->key.k0 : c->key.k1) >> i % 8 * 8) & 0xff);
	for (uint32_t i = 0; i < c->vips_count; i++)
		json_array_append_new(vips, json_string(address_print(&c->vips[i], text)));
	for (uint32_t i = 0; i < c->ports_count; i++)
		json_array_append_new(ports, json_pack("{s:s, s:i}", "protocol",
						       c->ports[i].protocol == IPPROTO_TCP ? "tcp" : "udp", "port",
						       c->ports[i].port));
	object = json_pack("{s:i, s:i, s:s, s:o, s:o, s:s, s:I, s:s, s:s, s:s, s:s, s:I}", "format", 1, "id", c->id,
			   "name", c->name, "vips", vips, "ports", ports, "steering", c->steering->name, "buckets",
			   (json_int_t)c->buckets, "hash", c->hash == FL_HASH_CRC32 ? "crc32" : "siphash", "hashKey",
			   key, "affinity", c->affinity == AFFINITY_CLIENT ? "client" : "connection", "encap",
			   c->encap->name, "windowSeconds", (json_int_t)c->window);
	require(object);
	put_optional(object, c);
	json = json_dumps(object, 0);
	require(json);
	json_decref(object);
	return json;
}

static void check_written(const struct service_config *config)
{
	char *json = write_config(config);
	struct service_config again;
	struct reason why = {""};

	require(!config_node_parse(json, strlen(json), "web", &again, &why));
	require(!memcmp(config, &again, sizeof(again)));
	free(json);
}

/* Any configuration leaves the tables with one complete service. */
static void check_tables(struct service_config config)
{
	struct service_config before = web->config;
	struct service *second = NULL;
	struct reason why = {""};
	int error;

	error = tables_change(tables, web, &config, &why);
	require(error ? why.text[0] && !memcmp(&web->config, &before, sizeof(before))
		      : !memcmp(&web->config, &config, sizeof(config)));
	require(!tables_change(tables, web, &before, &why));
	strcpy(config.name, "second");
	why.text[0] = 0;
	error = tables_add(tables, &config, &second, &why);
	require(error ? why.text[0] : tables_find_id(tables, config.id) == second);
	if (!error)
		tables_remove(tables, second);
	require(tables_find(tables, "web") == web && !tables_find(tables, "second"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct service_config config, untouched;
	struct reason why = {""};

	memset(&config, 0xa5, sizeof(config));
	memcpy(&untouched, &config, sizeof(config));
	if (config_node_parse((const char *)data, size, "web", &config, &why)) {
		require(why.text[0] && !memcmp(&config, &untouched, sizeof(config)));
		return 0;
	}
	check_ranges(&config);
	check_written(&config);
	check_tables(config);
	return 0;
}
