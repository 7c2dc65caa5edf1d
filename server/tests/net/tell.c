/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells an attached form how busy the server is, as the agent does:
 *
 *	tell bpf|module INTERFACE SERVICE always|static|dynamic BUSY THRESHOLD SECONDS
 *
 * The setting counts for so many seconds. The interface is not used with the module.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "form.h"

static fl_u32 policy_of(const char *word)
{
	return !strcmp(word, "static") ? FL_LOAD_STATIC : !strcmp(word, "dynamic") ? FL_LOAD_DYNAMIC : FL_LOAD_ALWAYS;
}

int main(int argc, char **argv)
{
	struct fl_load_setting setting = {.window = 50, .epsilon = 100};
	const struct form *form;
	struct timespec now;
	struct load *load;
	int err;

	if (argc != 8) {
		fprintf(stderr, "usage: tell bpf|module INTERFACE SERVICE POLICY BUSY THRESHOLD SECONDS\n");
		return 2;
	}
	form = strcmp(argv[1], "module") ? &form_bpf : &form_module;
	clock_gettime(CLOCK_MONOTONIC, &now);
	setting.policy = policy_of(argv[4]);
	setting.busy = (fl_u32)atol(argv[5]);
	setting.threshold = (fl_u32)atol(argv[6]);
	setting.sequence = (fl_u32)now.tv_nsec;
	setting.until_ns = (fl_u64)(now.tv_sec + atol(argv[7])) * 1000000000 + (fl_u64)now.tv_nsec;
	load = form->load->open(argv[2]);
	err = load ? load->form->find(load) : -1;
	if (!err)
		err = load->form->set(load, (fl_u16)atol(argv[3]), &setting);
	if (err)
		fprintf(stderr, "tell: cannot set the load: %s\n", strerror(-err));
	if (load)
		load->form->close(load);
	return err ? 1 : 0;
}
