// SPDX-License-Identifier: Apache-2.0
/** Whether a controller serves, for load balancers, and its metrics for Prometheus. */
package io.fairlead.controller.resources.status;
