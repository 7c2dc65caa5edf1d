// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** In which steps changed weights take effect; without them, as the service says. */
public final class StageOptions {
  @Option(
      names = "--stage",
      paramLabel = "LIST",
      converter = StagesConverter.class,
      description =
          "Move only these shares of the buckets at first, such as 1%%,10%%,100%%; undone if the"
              + " backend does worse than the others. Default: the service's")
  private String stages;

  @Option(
      names = "--bake",
      paramLabel = "TIME",
      converter = SecondsConverter.class,
      description = "How long each step of --stage lasts, such as 60s. Default: the service's")
  private Integer bake;

  /** Percentages; the controller checks the numbers. */
  static final class StagesConverter implements ITypeConverter<String> {
    @Override
    public String convert(String text) {
      String shares = text.replace("%", "").replace(" ", "");
      if (!shares.matches("[0-9.]+(,[0-9.]+)*")) {
        throw new TypeConversionException(
            "'%s' is refused; allowed: percentages, such as 1%%,10%%,100%%".formatted(text));
      }
      return shares;
    }
  }

  /** As parameters of the query. */
  public List<String> parameters() {
    List<String> parameters = new ArrayList<>();
    if (stages != null) {
      parameters.add("stage=" + stages);
    }
    if (bake != null) {
      parameters.add("bake=" + bake);
    }
    return parameters;
  }
}
