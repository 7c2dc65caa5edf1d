// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

/** Contiguous buckets that go from one backend to another; 0 is "no backend". */
public record Move(int start, int count, int from, int to) {}
