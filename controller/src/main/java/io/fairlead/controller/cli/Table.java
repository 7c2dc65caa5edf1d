// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Rows of text in aligned columns, two spaces apart; columns of numbers are flush right. */
public final class Table {
  private final String[] heads;
  private final List<String[]> rows = new ArrayList<>();

  public Table(String... heads) {
    this.heads = heads;
  }

  public void row(String... cells) {
    if (cells.length != heads.length) {
      throw new IllegalArgumentException(
          "%d cells in a table of %d columns".formatted(cells.length, heads.length));
    }
    rows.add(cells);
  }

  public void print(PrintWriter out) {
    int columns = heads.length;
    int[] widths = new int[columns];
    boolean[] isRight = new boolean[columns];
    for (int column = 0; column < columns; column++) {
      widths[column] = heads[column].length();
      isRight[column] = true;
      for (String[] row : rows) {
        widths[column] = Math.max(widths[column], row[column].length());
        isRight[column] &= row[column].matches("-|[0-9]+([.][0-9]+)?( %)?");
      }
    }
    line(out, heads, widths, isRight);
    rows.forEach(row -> line(out, row, widths, isRight));
  }

  /** A cell with the share of {@code part} in {@code whole}. */
  public static String percent(long part, long whole) {
    return percent(whole == 0 ? 0.0 : (double) part / whole);
  }

  /** The same of a share, 0 to 1. */
  public static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  private static void line(PrintWriter out, String[] cells, int[] widths, boolean[] isRight) {
    StringBuilder line = new StringBuilder();
    for (int column = 0; column < cells.length; column++) {
      String padding = " ".repeat(widths[column] - cells[column].length());
      line.append(column == 0 ? "" : "  ")
          .append(isRight[column] ? padding : "")
          .append(cells[column])
          .append(isRight[column] ? "" : padding);
    }
    out.println(line.toString().stripTrailing());
  }
}
