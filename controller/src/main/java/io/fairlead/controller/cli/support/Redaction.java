// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.support;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fairlead.controller.cli.Json;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Leaves secrets out of what others will read. Rather too much than too little: fields by their
 * names, whatever has the form of a key, a token or a password, and texts that are known to be
 * secret, wherever they stand.
 */
final class Redaction {
  static final String HIDDEN = "(hidden)";

  /** Fields, variables and flags of which the value is a secret. */
  private static final String NAME =
      "[A-Za-z0-9_.-]*(?:key|token|passw|secret|credential|auth(?!or))[A-Za-z0-9_.-]*";

  private static final Pattern FIELD = Pattern.compile(NAME, Pattern.CASE_INSENSITIVE);

  /** Those of which all is hidden: keys and digests in hex, JWTs, private keys. */
  private static final List<Pattern> FORMS =
      List.of(
          Pattern.compile("(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])"),
          Pattern.compile("eyJ[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]*"),
          Pattern.compile("(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [^-]*-----|$)"));

  /** Those of which the end is hidden, behind what the first group is. */
  private static final List<Pattern> ENDS =
      List.of(
          Pattern.compile("(?i)(\\b(?:bearer|basic)\\s+)[!-~]+"),
          Pattern.compile("(\\bplain:)[!-~]+"),
          Pattern.compile("(://)[^/@\\s\"]+(?=@)"),
          Pattern.compile("(?i)([?&]" + NAME + "=)[^&\\s\"']+"),
          Pattern.compile("(?i)(\\b" + NAME + "=\")[^\"]*"));

  private static final Pattern FLAG = Pattern.compile("(?i)(--" + NAME + "[ =])(\"?)([^\\s\"]+)");
  private static final Pattern VARIABLE = Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)=(.*)");

  private final List<String> known;
  private int hidden;

  /**
   * @param known texts that are secret
   */
  Redaction(List<String> known) {
    this.known = known.stream().filter(text -> !text.isBlank()).toList();
  }

  /** How many values were hidden. */
  int hidden() {
    return hidden;
  }

  JsonNode json(JsonNode node) {
    if (node instanceof ObjectNode object) {
      ObjectNode clean = Json.object();
      for (Map.Entry<String, JsonNode> field : object.properties()) {
        clean.set(text(field.getKey()), value(field.getKey(), field.getValue()));
      }
      return clean;
    }
    if (node instanceof ArrayNode list) {
      ArrayNode clean = Json.array();
      list.forEach(each -> clean.add(json(each)));
      return clean;
    }
    return node.isTextual() ? TextNode.valueOf(embedded(node.textValue())) : node;
  }

  private JsonNode value(String name, JsonNode value) {
    if (FIELD.matcher(name).matches() && !value.isBoolean() && !value.isNull()) {
      hidden++;
      return TextNode.valueOf(HIDDEN);
    }
    return json(value);
  }

  /** A text may be JSON itself: the bodies of requests in audit records are. */
  String embedded(String text) {
    if (text.startsWith("{") || text.startsWith("[")) {
      try {
        return json(Json.read(text)).toString();
      } catch (JsonProcessingException e) {
        return text(text); // only looked like it
      }
    }
    return text(text);
  }

  String text(String text) {
    String clean = text;
    for (String secret : known) {
      clean = count(Pattern.compile(Pattern.quote(secret)), clean, HIDDEN);
    }
    for (Pattern form : FORMS) {
      clean = count(form, clean, HIDDEN);
    }
    for (Pattern end : ENDS) {
      clean = count(end, clean, "$1" + HIDDEN);
    }
    return clean;
  }

  /** A file of variables for a unit, without its comments; paths of files that are there stay. */
  String environment(String text) {
    StringBuilder clean = new StringBuilder();
    for (String line : text.lines().map(String::strip).toList()) {
      if (!line.isEmpty() && !line.startsWith("#") && !line.startsWith(";")) {
        clean.append(variable(line)).append('\n');
      }
    }
    return clean.toString();
  }

  private String variable(String line) {
    Matcher matcher = VARIABLE.matcher(line);
    if (!matcher.matches()) {
      hidden++;
      return HIDDEN; // a line of nothing known
    }
    String name = matcher.group(1);
    String value = matcher.group(2);
    if (FIELD.matcher(name).matches() && !isFile(value.replace("\"", ""))) {
      hidden++;
      return name + "=" + HIDDEN;
    }
    String flags =
        FLAG.matcher(value)
            .replaceAll(
                flag -> {
                  boolean isKept = isFile(flag.group(3));
                  hidden += isKept ? 0 : 1;
                  return Matcher.quoteReplacement(
                      flag.group(1) + flag.group(2) + (isKept ? flag.group(3) : HIDDEN));
                });
    return name + "=" + text(flags);
  }

  private static boolean isFile(String value) {
    try {
      return value.startsWith("/") && Files.exists(Path.of(value));
    } catch (InvalidPathException e) {
      return false;
    }
  }

  private String count(Pattern pattern, String text, String by) {
    Matcher matcher = pattern.matcher(text);
    StringBuilder clean = new StringBuilder();
    while (matcher.find()) {
      hidden++;
      matcher.appendReplacement(clean, by);
    }
    return matcher.appendTail(clean).toString();
  }
}
