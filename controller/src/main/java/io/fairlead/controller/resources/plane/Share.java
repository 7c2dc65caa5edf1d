// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

/** Buckets of one backend before and after a change. */
public record Share(int id, int weight, int before, int after) {}
