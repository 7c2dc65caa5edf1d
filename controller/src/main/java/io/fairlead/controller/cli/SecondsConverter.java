// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A number of seconds, minutes, hours or days, such as {@code 2h}. */
public final class SecondsConverter implements ITypeConverter<Integer> {
  @Override
  public Integer convert(String text) {
    if (!text.matches("[0-9]{1,7}[smhd]?")) {
      throw new TypeConversionException(
          "'%s' is refused; allowed: seconds, or a number with s, m, h or d, such as 2h"
              .formatted(text));
    }
    int seconds =
        switch (text.charAt(text.length() - 1)) {
          case 'm' -> 60;
          case 'h' -> 3600;
          case 'd' -> 86_400;
          default -> 1;
        };
    return (int)
        Math.min(Integer.MAX_VALUE, Long.parseLong(text.replaceAll("[smhd]", "")) * seconds);
  }
}
