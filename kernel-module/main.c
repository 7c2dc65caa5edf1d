// SPDX-License-Identifier: GPL-2.0-only
/* The server side as a kernel module: registers its parts. Packets are processed from receive.c on. */
#include "instance.h"
#include "netlink.h"
#include "receive.h"

#include <linux/module.h>

#if !IS_ENABLED(CONFIG_IPV6)
#error "fairlead needs a kernel with CONFIG_IPV6"
#endif

static int __init fairlead_init(void)
{
	int err = fl_flows_register();

	if (err)
		return err;
	err = fl_instances_register();
	if (err)
		goto err_flows;
	err = fl_receive_register();
	if (err)
		goto err_instances;
	err = fl_netlink_register();
	if (err)
		goto err_receive;
	return 0;

err_receive:
	fl_receive_unregister();
err_instances:
	fl_instances_unregister();
err_flows:
	fl_flows_unregister();
	return err;
}

static void __exit fairlead_exit(void)
{
	fl_netlink_unregister();
	fl_receive_unregister();
	fl_instances_unregister();
	fl_flows_unregister();
}

module_init(fairlead_init);
module_exit(fairlead_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Server side of the Fairlead load balancer: decapsulates, delivers, daisy-chains");
MODULE_AUTHOR("The Fairlead authors");
MODULE_VERSION("0.3.0");
