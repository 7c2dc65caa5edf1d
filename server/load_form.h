/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the agent tells an attached form how busy the server is, and reads what became of that (abi/load.h). A form that
 * is attached later, or detached and attached again, is found by the next find().
 */
#ifndef FAIRLEAD_LOAD_FORM_H
#define FAIRLEAD_LOAD_FORM_H

#include "load.h"

/* An open form; each form's own struct begins with it. */
struct load {
	const struct load_form *form;
};

/*
 * What a form implements. find(), set() and read() return 0, -ENOENT if nothing is attached, or another negative errno:
 * if the form that is attached cannot be used, a sentence is printed when it is met first.
 */
struct load_form {
	/*
	 * interface: as for `attach`, NULL with the module. Nothing needs to be attached. Before any thread of this process:
	 * the XDP form starts an opener. NULL and errno.
	 */
	struct load *(*open)(const char *interface);
	/* Finds what is attached now: before the next two, once for several of them. */
	int (*find)(struct load *load);
	int (*set)(struct load *load, fl_u16 service, const struct fl_load_setting *setting);
	int (*read)(struct load *load, fl_u16 service, struct fl_load_state *state);
	/* Whether a server is attached now: 1 or 0, or a negative errno if that is not known. Prints nothing. */
	int (*is_attached)(struct load *load);
	/* Gives up what only opening needed; before any thread. Returns 0 or a negative errno. */
	int (*shed)(void);
	void (*close)(struct load *load);
};

extern const struct load_form load_bpf, load_module;

#endif
