/* SPDX-License-Identifier: Apache-2.0 */
#include "entries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crc.h"
#include "layout.h"

enum { TEXT_MAX = 256 };

static int family(const struct fl_address *address)
{
	return !fl_address_is_ipv4(address);
}

/* An address as a key's first fields. */
static int print_key(char *out, size_t size, const struct fl_address *address)
{
	if (fl_address_is_ipv4(address))
		return snprintf(out, size, "match 0x%x", fl_load_be32(address->bytes + 12));
	return snprintf(out, size, "match 0x%" PRIx64 " 0x%" PRIx64, fl_load_be64(address->bytes),
			fl_load_be64(address->bytes + 8));
}

/* The tables: each kind has one for IPv4 and, behind it, one for IPv6. */
enum table { TABLE_PORTS, TABLE_VIPS = 2, TABLE_SOURCES = 4 };

static const struct {
	const char *name, *action;
} tables[] = {
    {"ports4", "serve4"}, {"ports6", "serve6"},       {"vips4", "is_vip4"},
    {"vips6", "is_vip6"}, {"sources4", "is_source4"}, {"sources6", "is_source6"},
};

static void put_address(struct entries *entries, enum table table, const struct fl_address *address, bool is_added)
{
	int which = (int)table + family(address);
	char text[TEXT_MAX];
	int len = print_key(text, sizeof(text), address);

	snprintf(text + len, sizeof(text) - (size_t)len, " action %s", tables[which].action);
	cores_entry(entries->cores, tables[which].name, text, is_added);
}

static uint32_t crc_of(const struct service_config *config, const struct fl_address *vip,
		       const struct service_port *port)
{
	unsigned variant = (config->affinity == AFFINITY_CLIENT ? P4_CRC_CLIENT : 0) | (family(vip) ? P4_CRC_IPV6 : 0);

	return config->hash == FL_HASH_SIPHASH ? 0 : p4_crc_constant(variant, vip, port->protocol, port->port);
}

static void put_port(struct entries *entries, const struct entries_service *service, const struct fl_address *vip,
		     const struct service_port *port, bool is_added)
{
	int which = TABLE_PORTS + family(vip);
	char text[TEXT_MAX];
	int len = print_key(text, sizeof(text), vip);

	snprintf(text + len, sizeof(text) - (size_t)len, " %u %u action %s slot %u service %u kind %u backend 0 crc %u",
		 port->port, port->protocol, tables[which].action, service->slot, service->config->id,
		 p4_kind(service->service, port->protocol, false, false), crc_of(service->config, vip, port));
	cores_entry(entries->cores, tables[which].name, text, is_added);
}

static bool has_port(const struct entries_service *service, const struct fl_address *vip,
		     const struct service_port *port)
{
	const struct service_config *config = service->config;

	for (uint32_t v = 0; config && service->is_offered && v < config->vips_count; v++)
		for (uint32_t p = 0; p < config->ports_count && fl_address_equal(&config->vips[v], vip); p++)
			if (config->ports[p].protocol == port->protocol && config->ports[p].port == port->port)
				return true;
	return false;
}

/*
 * Those that the other one lacks; other NULL: all. An entry that is there is changed by adding it again. Deleted before
 * that, in one commit, it would be gone.
 */
static void put_ports(struct entries *entries, const struct entries_service *service, bool is_added,
		      const struct entries_service *other)
{
	const struct service_config *config = service->config;

	for (uint32_t v = 0; config && service->is_offered && v < config->vips_count; v++)
		for (uint32_t p = 0; p < config->ports_count; p++)
			if (!other || !has_port(other, &config->vips[v], &config->ports[p]))
				put_port(entries, service, &config->vips[v], &config->ports[p], is_added);
}

/* --- how many there are ------------------------------------------------------------------------------------------- */

static uint32_t lower(const struct entries *entries, const struct fl_address *address)
{
	uint32_t low = 0, high = entries->vips_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (memcmp(&entries->vips[middle].address, address, sizeof(*address)) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct entries *entries, uint32_t at, const struct fl_address *address)
{
	return at < entries->vips_count && fl_address_equal(&entries->vips[at].address, address);
}

static bool is_self(const struct entries *entries, const struct fl_address *address)
{
	return fl_address_equal(address, &entries->selves[0]) || fl_address_equal(address, &entries->selves[1]);
}

/* One service more has the VIP; false: no memory. */
static bool add_vip(struct entries *entries, const struct fl_address *address)
{
	uint32_t at = lower(entries, address), room = entries->vips_room ? 2 * entries->vips_room : 16;

	if (is_at(entries, at, address)) {
		entries->vips[at].services++;
		return true;
	}
	if (entries->vips_count == entries->vips_room) {
		struct entries_vip *vips = realloc(entries->vips, room * sizeof(*vips));

		if (!vips)
			return false;
		entries->vips = vips;
		entries->vips_room = room;
	}
	memmove(&entries->vips[at + 1], &entries->vips[at], (entries->vips_count - at) * sizeof(*entries->vips));
	entries->vips[at] = (struct entries_vip){.address = *address, .services = 1};
	entries->vips_count++;
	entries->vips_of[family(address)]++;
	put_address(entries, TABLE_VIPS, address, true);
	if (!is_self(entries, address))
		put_address(entries, TABLE_SOURCES, address, true);
	return true;
}

static void remove_vip(struct entries *entries, const struct fl_address *address)
{
	uint32_t at = lower(entries, address);

	if (!is_at(entries, at, address) || --entries->vips[at].services)
		return;
	entries->vips_count--;
	memmove(&entries->vips[at], &entries->vips[at + 1], (entries->vips_count - at) * sizeof(*entries->vips));
	entries->vips_of[family(address)]--;
	put_address(entries, TABLE_VIPS, address, false);
	if (!is_self(entries, address))
		put_address(entries, TABLE_SOURCES, address, false);
}

/* Adds what a configuration takes, with this sign: ports, and VIPs that no service has, by family. */
static void count(const struct entries *entries, const struct service_config *config, int sign, int64_t ports[2],
		  int64_t vips[2])
{
	for (uint32_t v = 0; config && v < config->vips_count; v++) {
		const struct fl_address *vip = &config->vips[v];
		uint32_t at = lower(entries, vip);

		ports[family(vip)] += sign * (int64_t)config->ports_count;
		vips[family(vip)] += sign > 0 ? !is_at(entries, at, vip) : 0;
	}
}

int entries_check(const struct entries *entries, const struct service_config *before,
		  const struct service_config *config, struct reason *why)
{
	int64_t ports[2] = {entries->ports[0], entries->ports[1]};
	int64_t vips[2] = {entries->vips_of[0], entries->vips_of[1]};

	count(entries, before, -1, ports, vips);
	count(entries, config, 1, ports, vips);
	for (int i = 0; i < 2; i++) {
		if (ports[i] > ENTRIES_PORTS)
			return reason_set(why, -ENOSPC,
					  "ports: with service %s there are %" PRId64
					  " VIPs with a port of IPv%d; allowed with a mux of kind p4: %d",
					  config->name, ports[i], i ? 6 : 4, ENTRIES_PORTS);
		if (vips[i] > ENTRIES_VIPS - 1)
			return reason_set(why, -ENOSPC,
					  "vips: with service %s there are %" PRId64
					  " VIPs of IPv%d; allowed with a mux of kind p4: %d",
					  config->name, vips[i], i ? 6 : 4, ENTRIES_VIPS - 1);
	}
	return 0;
}

int entries_put(struct entries *entries, const struct entries_service *before, const struct entries_service *after)
{
	int64_t ports[2] = {entries->ports[0], entries->ports[1]}, vips[2] = {0};
	bool has_memory = true;

	count(entries, before->config, -1, ports, vips);
	count(entries, after->config, 1, ports, vips);
	entries->ports[0] = (uint32_t)ports[0];
	entries->ports[1] = (uint32_t)ports[1];
	put_ports(entries, before, false, after);
	for (uint32_t v = 0; after->config && v < after->config->vips_count; v++)
		has_memory &= add_vip(entries, &after->config->vips[v]);
	for (uint32_t v = 0; before->config && v < before->config->vips_count; v++)
		remove_vip(entries, &before->config->vips[v]);
	put_ports(entries, after, true, NULL);
	if (!has_memory)
		cores_fail(entries->cores, "no memory for VIPs");
	return cores_commit(entries->cores);
}

int entries_init(struct entries *entries, struct cores *cores, const struct fl_address *self,
		 const struct fl_address *self6, struct reason *why)
{
	*entries = (struct entries){.cores = cores, .selves = {*self, *self6}};
	for (int i = 0; i < ENTRIES_SELVES; i++)
		if (!fl_address_is_none(&entries->selves[i]))
			put_address(entries, TABLE_SOURCES, &entries->selves[i], true);
	return cores_commit(cores) ? reason_set(why, -EINVAL, "the pipelines' tables do not take the mux's addresses")
				   : 0;
}

void entries_clear(struct entries *entries)
{
	free(entries->vips);
	entries->vips = NULL;
}
