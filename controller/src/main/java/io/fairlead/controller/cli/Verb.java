// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Api.Reply;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A verb: calls the API and prints the answer. */
public abstract class Verb implements Callable<Integer> {
  @Spec private CommandSpec spec;

  /** Prints the answer as it is with {@code -o json}, else {@code forPeople}. */
  protected final void print(Reply reply, Consumer<JsonNode> forPeople) {
    if (root().format() == Fairleadctl.Format.json) {
      out().println(reply.text());
    } else {
      forPeople.accept(reply.json());
    }
    out().flush();
  }

  protected final Api api() {
    return api(root().api());
  }

  /** Another controller, called with the same token if that was given, else with its own. */
  protected final Api api(String url) {
    try {
      return new Api(url, root().token(url), root().authority(), root().isClearTextAllowed());
    } catch (IllegalArgumentException e) {
      throw usage(e.getMessage());
    }
  }

  /** What others must not read of what this command was given. */
  protected final List<String> secrets() {
    try {
      return root().token(root().api()).stream().toList();
    } catch (IllegalArgumentException e) {
      throw usage(e.getMessage());
    }
  }

  protected final String version() throws IOException {
    return Version.text();
  }

  protected final boolean isTable() {
    return root().format() == Fairleadctl.Format.table;
  }

  protected final PrintWriter err() {
    return spec.commandLine().getErr();
  }

  protected final PrintWriter out() {
    return spec.commandLine().getOut();
  }

  /** Such as "1 bucket" and "2 buckets". */
  protected static String count(long count, String what) {
    return "%d %s%s".formatted(count, what, count == 1 ? "" : "s");
  }

  protected final void printf(String format, Object... values) {
    out().printf(format, values);
  }

  /** Ends the command as bad usage, with one sentence. */
  public final ParameterException usage(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }

  private Fairleadctl root() {
    return (Fairleadctl) spec.root().userObject();
  }

  /** The query of a write, with "?"; empty without parameters. */
  protected static String query(boolean isDryRun, List<String> parameters) {
    List<String> given = new ArrayList<>(parameters);
    if (isDryRun) {
      given.add(0, "dryRun=true");
    }
    return given.isEmpty() ? "" : "?" + String.join("&", given);
  }

  public static String servicePath(String service) {
    return "/v1/services/" + encode(service);
  }

  public static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
