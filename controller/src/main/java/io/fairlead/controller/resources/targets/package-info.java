// SPDX-License-Identifier: Apache-2.0
/** Where Prometheus reads the metrics of controllers, muxes and probes. */
package io.fairlead.controller.resources.targets;
