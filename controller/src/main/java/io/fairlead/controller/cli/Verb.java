// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Api.Reply;
import java.io.PrintWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** One verb: asks the API once and prints the answer. */
abstract class Verb implements Callable<Integer> {
  @Spec private CommandSpec spec;

  /** Prints the answer as it is with {@code -o json}, else {@code forPeople}. */
  final void print(Reply reply, Consumer<JsonNode> forPeople) {
    if (root().format() == Fairleadctl.Format.json) {
      out().println(reply.text());
    } else {
      forPeople.accept(reply.json());
    }
    out().flush();
  }

  final Api api() {
    try {
      return new Api(root().api(), root().token(), root().authority());
    } catch (IllegalArgumentException e) {
      throw usage(e.getMessage());
    }
  }

  /** The services of a file; ends the command as bad usage if there is something wrong with it. */
  final Manifest manifest(String file) {
    try {
      return Manifest.read(file);
    } catch (IllegalArgumentException e) {
      throw usage(e.getMessage());
    }
  }

  final boolean isTable() {
    return root().format() == Fairleadctl.Format.table;
  }

  final PrintWriter err() {
    return spec.commandLine().getErr();
  }

  final PrintWriter out() {
    return spec.commandLine().getOut();
  }

  /** Ends the command as bad usage, with one sentence. */
  final ParameterException usage(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }

  private Fairleadctl root() {
    return (Fairleadctl) spec.root().userObject();
  }

  static String servicePath(String service) {
    return "/v1/services/" + encode(service);
  }

  static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
