// SPDX-License-Identifier: Apache-2.0
#include "load_form.h"

#include "form.h"

struct load *load_open(const struct form *form, const char *interface)
{
	struct load *load = form->load->open(interface);

	if (load)
		load->form = form->load;
	return load;
}

int load_find(struct load *load)
{
	return load->form->find ? load->form->find(load) : 0;
}

int load_set(struct load *load, fl_u16 service, const struct fl_load_setting *setting)
{
	return load->form->set(load, service, setting);
}

int load_read(struct load *load, fl_u16 service, struct fl_load_state *state)
{
	return load->form->read(load, service, state);
}

int load_is_attached(struct load *load)
{
	return load->form->is_attached(load);
}

int load_shed(const struct load *load)
{
	return load->form->shed ? load->form->shed() : 0;
}

void load_close(struct load *load)
{
	if (load)
		load->form->close(load);
}
