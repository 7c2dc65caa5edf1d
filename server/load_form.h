/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the agent tells an attached form how busy the server is, and reads what became of that (abi/load.h). A form that
 * is attached later, or detached and attached again, is found by the next load_find().
 */
#ifndef FAIRLEAD_LOAD_FORM_H
#define FAIRLEAD_LOAD_FORM_H

#include "load.h"

/* An open form; each form's own struct begins with it. */
struct load {
	const struct load_form *form;
};

/* What a form implements; the functions below say what each does. */
struct load_form {
	struct load *(*open)(const char *interface);
	int (*find)(struct load *load); /* NULL: each call finds it */
	int (*set)(struct load *load, fl_u16 service, const struct fl_load_setting *setting);
	int (*read)(struct load *load, fl_u16 service, struct fl_load_state *state);
	int (*is_attached)(struct load *load);
	int (*shed)(void); /* NULL: nothing to give up */
	void (*close)(struct load *load);
};

extern const struct load_form load_bpf, load_module;

/*
 * interface: as for `attach`, NULL with the module. Nothing needs to be attached. Before any thread of this process: the
 * XDP form starts an opener (opener.h). NULL and errno.
 */
FL_INLINE struct load *load_open(const struct load_form *form, const char *interface)
{
	struct load *load = form->open(interface);

	if (load)
		load->form = form;
	return load;
}

/*
 * Finds what is attached now: before others, once for several of them. All three return 0, -ENOENT if nothing is
 * attached, or another negative errno: if the form that is attached cannot be used, a sentence is printed when it is met
 * first.
 */
FL_INLINE int load_find(struct load *load)
{
	return load->form->find ? load->form->find(load) : 0;
}

FL_INLINE int load_set(struct load *load, fl_u16 service, const struct fl_load_setting *setting)
{
	return load->form->set(load, service, setting);
}

FL_INLINE int load_read(struct load *load, fl_u16 service, struct fl_load_state *state)
{
	return load->form->read(load, service, state);
}

/* Whether a server is attached now: 1 or 0, or a negative errno if that cannot be told. Prints nothing. */
FL_INLINE int load_is_attached(struct load *load)
{
	return load->form->is_attached(load);
}

/* Gives up what only opening needed; before any thread. Returns 0 or a negative errno. */
FL_INLINE int load_shed(const struct load *load)
{
	return load->form->shed ? load->form->shed() : 0;
}

FL_INLINE void load_close(struct load *load)
{
	if (load)
		load->form->close(load);
}

#endif
