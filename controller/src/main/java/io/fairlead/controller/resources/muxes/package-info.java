// SPDX-License-Identifier: Apache-2.0
/** The muxes, as they describe themselves in ZooKeeper. */
package io.fairlead.controller.resources.muxes;
