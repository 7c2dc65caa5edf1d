// SPDX-License-Identifier: Apache-2.0
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "forget.h"
#include "form.h"
#include "host.h"
#include "refusal.h"
#include "running.h"
#include "show.h"

static int check_arguments(const struct arguments *arguments)
{
	return arguments->interface ? 0 : refusal_print("--interface", "", "the name of an interface");
}

static int check_config(const struct config *config)
{
	if (config->program.ipip_service)
		return refusal_print("--ipip-service", "given",
				     "only with --form module: the XDP program receives GUE and segment routing");
	if (config->program.mangle)
		return refusal_print("--mangle", "given",
				     "only with --form module: the XDP program sees no replies, to write the VIP back");
	return 0;
}

static int attach(const struct arguments *arguments, struct config *config)
{
	struct running running;
	int err;

	config->program.redirect = host_needs_redirect(arguments->interface);
	err = running_open(&running, arguments->interface);
	if (!err)
		err = host_check(config, running.interface);
	if (!err)
		err = program_attach(&running, config, arguments->mode);
	running_close(&running);
	return err;
}

static int detach(const struct arguments *arguments)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = program_detach(&running);
	running_close(&running);
	return err;
}

static int show(const struct arguments *arguments)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = running_check(&running);
	if (!err)
		err = show_print(&running, arguments->format);
	running_close(&running);
	return err;
}

static int forget(const struct arguments *arguments)
{
	struct running running;
	fl_u32 generation;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = running_check(&running);
	if (!err) {
		err = forget_service(&running, arguments->service, &generation);
		if (err)
			fprintf(stderr, "fairlead-server: %s: cannot change the program's maps: %s\n",
				arguments->interface, strerror(-err));
		else
			err = forget_report(arguments->service, generation, arguments->interface);
	}
	running_close(&running);
	return err;
}

const struct form form_bpf = {
    .word = "bpf",
    .check_arguments = check_arguments,
    .check_config = check_config,
    .attach = attach,
    .detach = detach,
    .show = show,
    .forget = forget,
    .load = &load_bpf,
};
