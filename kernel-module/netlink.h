/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FAIRLEAD_NETLINK_H
#define FAIRLEAD_NETLINK_H

/* The commands of uapi/fairlead/module.h. */
int fl_netlink_register(void);
void fl_netlink_unregister(void);

#endif
