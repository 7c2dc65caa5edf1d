// SPDX-License-Identifier: Apache-2.0
/** Settings of the whole cluster: the ranges of VIPs, and addresses that never are one. */
package io.fairlead.controller.resources.cluster;
