// SPDX-License-Identifier: Apache-2.0
/** Rebalancing and defragmenting a service: orders, progress, routes and verbs. */
package io.fairlead.controller.resources.upkeep;
