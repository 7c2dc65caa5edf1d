// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/generation_notice.h>
#include <fairlead/list_tag.h>

#include "client.h"
#include "forget.h"
#include "form.h"
#include "refusal.h"

static int fail(const struct module_client *client, int err)
{
	fprintf(stderr, "fairlead-server: %s\n", client->error);
	return err;
}

/* Names the flag that the kernel's error is about. */
static int attach_fail(const struct module_client *client, const struct config *config, int err)
{
	char text[CONFIG_TEXT_LEN];

	config_self_text(&config->program, text);
	if (err == -EADDRNOTAVAIL)
		refusal_print("--address", text, "addresses of this host: see ip address");
	else if (err == -EADDRINUSE)
		refusal_print("--address", text, "addresses whose UDP port is not in use: see ss -lun");
	else
		fail(client, err);
	return err;
}

/* Makes the keys of all services and of these addresses of the cluster's key. */
static int keys_make(const struct fl_siphash_key *cluster, const struct fl_address self[2], struct fl_server_keys *keys)
{
	fl_u32 i;

	keys->services = calloc(FL_SERVER_SERVICES, sizeof(*keys->services));
	if (!keys->services)
		return -ENOMEM;
	keys->count = FL_SERVER_SERVICES;
	for (i = 0; i < 2; i++)
		keys->notice[i].by_bit[0] = keys->notice[i].by_bit[1] = fl_generation_key(cluster, &self[i]);
	for (i = 0; i < keys->count; i++) {
		struct fl_siphash_key key = fl_list_key(cluster, (fl_u16)i);

		keys->services[i] = (struct fl_service_keys){i, {{key, key}}};
	}
	return 0;
}

int form_module_set(struct module_client *client, const struct config *config)
{
	static struct fl_peer peers[FL_SERVER_PEERS_MAX];
	const struct fl_address self[2] = {config->program.self, config->program.self6};
	struct fl_server_keys keys = {.count = 0};
	struct module_setup setup = {
	    .config = &config->program,
	    .peers = peers,
	    .peer_count = config->peer_count,
	    .quiet = config->quiet,
	    .keys = config->program.tagged ? &keys : NULL,
	};
	unsigned int i;
	int err = config->program.tagged ? keys_make(&config->program.tag_key, self, &keys) : 0;

	for (i = 0; i < config->peer_count; i++)
		peers[i] = (struct fl_peer){.prefix = config->peers[i], .roles = FL_PEER_ANY};
	if (!err)
		err = module_set(client, &setup);
	free(keys.services);
	return err;
}

static int attach(const struct arguments *arguments, struct config *config)
{
	struct module_client client;
	int err = module_open(&client);

	(void)arguments;
	if (err) {
		fail(&client, err);
	} else {
		err = form_module_set(&client, config);
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

static int detach(const struct arguments *arguments)
{
	struct module_client client;
	int err = module_open(&client);

	(void)arguments;
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
		json_array_append_new(peers, json_string(config_peer_text(&state->peers[i].prefix, text)));
	return peers;
}

static void service_add(void *services, fl_u16 service, fl_u32 generation)
{
	document_service_add(services, service, generation);
}

/* Reads the loaded module's version; returns text. */
static const char *version_read(char *text, size_t size)
{
	FILE *file = fopen("/sys/module/fairlead/version", "r");

	if (!file || !fgets(text, (int)size, file))
		snprintf(text, size, "unknown");
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Adds the load of each service. */
static int loads_add(struct module_client *client, json_t *services)
{
	const char *id;
	json_t *service;

	json_object_foreach(services, id, service)
	{
		fl_u16 number = (fl_u16)atoi(id);
		struct module_load load;
		int err = module_get_load(client, number, &load);

		if (err)
			return err;
		document_load_add(services, number, &load.setting, &load.state, document_clock());
	}
	return 0;
}

static int show_print(struct module_client *client, enum document_format format)
{
	static struct module_state state;
	struct document_parts parts = {.form = "module", .services = json_object()};
	char version[32];
	json_t *document;
	int err = module_get(client, &state);

	if (!err)
		err = module_services(client, service_add, parts.services);
	if (!err)
		err = loads_add(client, parts.services);
	if (err) {
		json_decref(parts.services);
		return err == -ENOENT ? absent() : fail(client, err);
	}
	parts.version = version_read(version, sizeof(version));
	parts.config = document_config(&state.config, state.quiet, peers_list(&state), "module");
	parts.counters = document_counters(state.counters);
	parts.quiet_left = state.quiet_left;
	document = document_make(&parts);
	if (state.config.mangle)
		json_object_set_new(json_object_get(document, "memory"), "flows", json_integer(state.flows));
	document_print(document, format);
	json_decref(document);
	return 0;
}

static int show(const struct arguments *arguments)
{
	struct module_client client;
	int err = module_open(&client);

	err = err ? fail(&client, err) : show_print(&client, arguments->format);
	module_close(&client);
	return err;
}

static void forgotten_service(void *state, fl_u16 service, fl_u32 generation)
{
	struct forgotten *forgotten = state;

	if (service == forgotten->service)
		forgotten->generation = generation;
}

static int forget(const struct arguments *arguments)
{
	struct forgotten forgotten = {.service = arguments->service};
	struct module_client client;
	int err = module_open(&client);

	if (!err)
		err = module_services(&client, forgotten_service, &forgotten);
	if (!err)
		err = module_forget(&client, arguments->service);
	if (err)
		err = client.family && err == -ENOENT ? absent() : fail(&client, err);
	else
		err = forget_report(&forgotten, "module");
	module_close(&client);
	return err;
}

/* The module serves all interfaces of the network namespace, with the kernel's clock. */
static int check_arguments(const struct arguments *arguments)
{
	if (arguments->interface)
		return refusal_print("--interface", arguments->interface,
				     "none with --form module, which serves the whole network namespace");
	if (arguments->clock_error)
		return refusal_print("--clock-error", arguments->clock_error,
				     "none with --form module: its clock is the kernel's");
	return arguments->mode == PROGRAM_AUTO ? 0 : refusal_print("--mode", "given", "none with --form module");
}

static int check_config(const struct config *config)
{
	(void)config; /* it takes every one */
	return 0;
}

const struct form form_module = {
    .word = "module",
    .check_arguments = check_arguments,
    .check_config = check_config,
    .attach = attach,
    .detach = detach,
    .show = show,
    .forget = forget,
    .load = &load_module,
};
