// SPDX-License-Identifier: Apache-2.0
/** Health for load balancers, and the metrics for Prometheus. */
package io.fairlead.controller.resources.health;
