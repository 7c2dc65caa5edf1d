// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "client.h"
#include "counters.h"
#include "module_form.h"
#include "refusal.h"

/* What a dump of the memory counts. */
struct buckets {
	fl_u64 now;
	fl_u32 window;
	json_int_t entries, open;
};

static int fail(const struct module_client *client, int err)
{
	fprintf(stderr, "fairlead-server: %s\n", client->error);
	return err;
}

/* Some refusals of the kernel are about what the operator wrote. */
static int attach_fail(const struct module_client *client, const struct config *config, int err)
{
	char text[CONFIG_TEXT_LEN];

	config_self_text(&config->program, text);
	if (err == -EADDRNOTAVAIL)
		refusal_print("--address", text, "addresses of this host: see ip address");
	else if (err == -EADDRINUSE)
		refusal_print("--address", text, "addresses at which no other socket has the UDP port: see ss -lun");
	else
		fail(client, err);
	return err;
}

int module_form_attach(const struct config *config)
{
	struct module_client client;
	int err = module_open(&client);

	if (err) {
		fail(&client, err);
	} else {
		err = module_set(&client, &config->program, config->peers, config->peer_count);
		if (err)
			attach_fail(&client, config, err);
	}
	module_close(&client);
	return err;
}

static int absent(void)
{
	fprintf(stderr, "fairlead-server: no server is attached in this network namespace\n");
	return -ENOENT;
}

int module_form_detach(void)
{
	struct module_client client;
	int err = module_open(&client);

	if (err) {
		fail(&client, err);
	} else {
		err = module_detach(&client);
		if (err)
			err == -ENOENT ? absent() : fail(&client, err);
	}
	module_close(&client);
	return err;
}

static json_t *peers_list(const struct module_state *state)
{
	json_t *peers = json_array();
	char text[CONFIG_TEXT_LEN];
	unsigned int i;

	for (i = 0; i < state->peer_count; i++)
		json_array_append_new(peers, json_string(config_peer_text(&state->peers[i], text)));
	return peers;
}

static json_t *counters_list(const struct module_state *state)
{
	json_t *counters = json_object();
	int i;

	for (i = 0; i < FL_COUNTERS; i++)
		json_object_set_new(counters, fl_counter_names[i], json_integer((json_int_t)state->counters[i]));
	return counters;
}

static void service_add(void *services, fl_u16 service, fl_u32 generation)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", service);
	json_object_set_new(services, id, json_pack("{s:I}", "generation", (json_int_t)generation));
}

static void bucket_count(void *state, const struct fl_memory_key *key, const struct fl_bucket_memory *value)
{
	struct buckets *buckets = state;

	(void)key;
	buckets->entries++;
	buckets->open += buckets->now < (fl_u64)value->since + buckets->window;
}

static int show(struct module_client *client, enum show_format format)
{
	static struct module_state state;
	struct buckets buckets = {.now = (fl_u64)time(NULL)};
	json_t *services = json_object(), *document;
	int err = module_get(client, &state);

	buckets.window = state.config.window;
	if (!err)
		err = module_services(client, service_add, services);
	if (!err)
		err = module_memory(client, bucket_count, &buckets);
	if (err) {
		json_decref(services);
		return err == -ENOENT ? absent() : fail(client, err);
	}
	document = json_pack("{s:n, s:o, s:o, s:o, s:{s:I, s:I, s:I}, s:i}", "interface", "config",
			     show_config(&state.config, peers_list(&state), "module"), "counters",
			     counters_list(&state), "services", services, "memory", "entries", buckets.entries, "open",
			     buckets.open, "capacity", (json_int_t)FL_SERVER_MEMORY_CAPACITY, "clockErrorSeconds", 0);
	show_document(document, format);
	json_decref(document);
	return 0;
}

int module_form_show(enum show_format format)
{
	struct module_client client;
	int err = module_open(&client);

	err = err ? fail(&client, err) : show(&client, format);
	module_close(&client);
	return err;
}
