// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int form_module_set(struct module_client *client, const struct config *config)
{
	const struct module_setup setup = {
	    .config = &config->program,
	    .peers = config->peers,
	    .peer_count = config->peer_count,
	    .keys = config->program.tagged ? &config->keys : NULL,
	};

	return module_set(client, &setup);
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

static struct document_peers peers_list(const struct module_state *state)
{
	struct document_peers peers = document_peers_begin();
	unsigned int i;

	for (i = 0; i < state->peer_count; i++)
		document_peers_add(&peers, &state->peers[i]);
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
	parts.config = document_config(&state.config, peers_list(&state), "module");
	parts.counters = document_counters(state.counters);
	parts.quiet_left = state.quiet_left;
	parts.flows = state.config.mangle ? (json_int_t)state.flows : -1;
	document = document_make(&parts);
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

struct forgotten {
	fl_u16 service;
	fl_u32 generation;
};

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
		err = forget_report(arguments->service, forgotten.generation, "module");
	module_close(&client);
	return err;
}

/* The module serves all interfaces of the network namespace. */
static int check_arguments(const struct arguments *arguments)
{
	if (arguments->interface)
		return refusal_print("--interface", arguments->interface,
				     "none with --form module, which serves the whole network namespace");
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
