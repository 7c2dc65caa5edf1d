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
#include "control/service/config_node.h"
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
	require(c->packets_per_second <= SERVICE_PACKETS_MAX && c->bytes_per_second <= SERVICE_BYTES_MAX);
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

/* What the mux keeps on disk is read back as the same configuration. */
static void check_written(const struct service_config *config)
{
	char *json = config_node_print(config);
	struct service_config again;
	struct reason why = {""};

	require(json && !config_node_parse(json, strlen(json), "web", &again, &why));
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
	require(error ? why.text[0] : registry_find_id(&tables->registry, config.id) == second);
	if (!error)
		tables_remove(tables, second);
	require(registry_find(&tables->registry, "web") == web && !registry_find(&tables->registry, "second"));
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
