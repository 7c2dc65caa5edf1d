// SPDX-License-Identifier: GPL-2.0-only
/* The server side as a kernel module: registers its parts. Packets are processed from receive.c on. */
#include "instance.h"
#include "netlink.h"
#include "receive.h"

#include <linux/module.h>

#if !IS_ENABLED(CONFIG_IPV6)
#error "fairlead needs a kernel with CONFIG_IPV6"
#endif

/* In the order in which they begin, and the reverse of that in which they end. */
static const struct {
	int (*open)(void);
	void (*close)(void);
} parts[] = {
    {fl_flows_register, fl_flows_unregister},
    {fl_instances_register, fl_instances_unregister},
    {fl_receive_register, fl_receive_unregister},
    {fl_netlink_register, fl_netlink_unregister},
};

static void close(int count)
{
	while (count--)
		parts[count].close();
}

static int __init fairlead_init(void)
{
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		err = parts[i].open();
		if (err)
			break;
	}
	if (err)
		close(i);
	return err;
}

static void __exit fairlead_exit(void)
{
	close(ARRAY_SIZE(parts));
}

module_init(fairlead_init);
module_exit(fairlead_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Server side of the Fairlead load balancer: decapsulates, delivers, daisy-chains");
MODULE_AUTHOR("The Fairlead authors");
MODULE_VERSION("0.3.0");
