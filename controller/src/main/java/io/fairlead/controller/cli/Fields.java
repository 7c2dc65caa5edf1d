// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;

/** Names and values, one pair a line, the values aligned. */
public final class Fields {
  private final Map<String, String> fields = new LinkedHashMap<>();

  public void add(String name, String value) {
    fields.put(name, value);
  }

  public void print(PrintWriter out) {
    int width = fields.keySet().stream().mapToInt(String::length).max().orElse(0);
    fields.forEach(
        (name, value) -> out.println(name + " ".repeat(width - name.length()) + "  " + value));
  }
}
