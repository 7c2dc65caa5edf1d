// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.backends;

/** {@code state} is "active" (weight > 0) or "draining" (weight 0). */
public record BackendView(int id, String address, int weight, String state, int buckets) {}
