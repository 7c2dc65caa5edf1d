// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.explain;

public record Owner(int id, String address) {}
