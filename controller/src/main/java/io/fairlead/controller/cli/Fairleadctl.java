// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.secret.SecretsFolder;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;

/** {@code fairleadctl} without its verbs: the options that all of them share, and exit codes. */
@Command(
    name = "fairleadctl",
    description = "Reads and changes a Fairlead cluster through its controller's REST API.",
    versionProvider = Version.class,
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:refused by the controller; stderr names the field and what is allowed",
      "2:bad usage",
      "3:the controller cannot be reached"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl cluster set --vip-range 10.99.0.0/16",
      "  fairleadctl service create web --vip 10.99.0.1 --port tcp:80",
      "  fairleadctl backend add web 1 10.1.0.21",
      "  fairleadctl backend drain web 1 --dry-run",
      "  fairleadctl -o json ring web | jq .generation"
    })
public final class Fairleadctl {
  public static final int REFUSED = 1;
  public static final int UNREACHABLE = 3;

  private static final String STANDARD_API = "http://127.0.0.1:8080";

  /** How answers are printed. */
  enum Format {
    table,
    json
  }

  /** Of an option. */
  enum Switch {
    on,
    off
  }

  @Option(
      names = "--api",
      scope = ScopeType.INHERIT,
      paramLabel = "URL",
      defaultValue = "${env:FAIRLEAD_API}",
      description =
          "URL of the controller, or FAIRLEAD_API. Default: that of the controller that this"
              + " user started last on this host, else "
              + STANDARD_API)
  private String api;

  @Option(
      names = "--token-file",
      scope = ScopeType.INHERIT,
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_TOKEN_FILE}",
      description =
          "File with your token, which only you can read, or FAIRLEAD_TOKEN_FILE. Default: the"
              + " token that this host's controller created, if you can read it")
  private Path tokenFile;

  @Option(
      names = "--cacert",
      scope = ScopeType.INHERIT,
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CACERT}",
      description =
          "Certificate authorities to trust, PEM, or FAIRLEAD_CACERT. Default: the" + " system's")
  private Path authority;

  @Option(
      names = "--api-clear-text",
      scope = ScopeType.INHERIT,
      paramLabel = "on|off",
      defaultValue = "${env:FAIRLEAD_API_CLEAR_TEXT:-off}",
      description =
          "on: --api may be http at an address other than loopback, and the token travels in clear"
              + " text; FAIRLEAD_API_CLEAR_TEXT if set. Default: off")
  private Switch clearText;

  @Option(
      names = {"-o", "--output"},
      scope = ScopeType.INHERIT,
      paramLabel = "FORMAT",
      defaultValue = "table",
      description = "table, or json: the API's answer unchanged. Default: table")
  private Format format;

  @Option(
      names = {"-h", "--help"},
      scope = ScopeType.INHERIT,
      usageHelp = true,
      description = "Show this help.")
  private boolean isHelpAsked;

  @Option(names = "--version", versionHelp = true, description = "Show the version.")
  private boolean isVersionAsked;

  private final SecretsFolder ofHost = SecretsFolder.ofUser(System.getenv());

  Fairleadctl() {}

  String api() {
    return Optional.ofNullable(api).or(ofHost::api).orElse(STANDARD_API);
  }

  Format format() {
    return format;
  }

  /**
   * The token that was given, else the one that the controller at {@code url} made on this host.
   *
   * @throws IllegalArgumentException naming the file and what is allowed
   */
  Optional<String> token(String url) {
    if (tokenFile != null) {
      return Optional.of(token(new SecretFile("--token-file", tokenFile)));
    }
    Optional<SecretFile> own = ofHost.tokenOf(url);
    return own.isPresent() ? Optional.of(token(own.get())) : Optional.empty();
  }

  private static String token(SecretFile file) {
    List<SecretFile.Line> lines = file.lines();
    if (lines.size() != 1 || !lines.get(0).text().matches("[!-~]{1,7168}")) {
      throw file.refused("it is malformed", "a token of visible characters in one line");
    }
    return lines.get(0).text();
  }

  boolean isClearTextAllowed() {
    return clearText == Switch.on;
  }

  Optional<Path> authority() {
    return Optional.ofNullable(authority);
  }

  /**
   * With these verbs, each a picocli command. Reading the annotations of all takes longer than a
   * request, so only the verb that {@code args} name is made whole, and the others are not there;
   * if none is named, all are, with name and description, for help.
   *
   * <p>Do not pass lambdas to picocli. It is compiled for Java 5, and the archive of shared classes
   * omits such classes once a lambda has linked them, which makes each start slower.
   */
  public static CommandLine commandLine(List<Class<?>> verbs, String... args) {
    CommandLine command = new CommandLine(new Fairleadctl());
    List<String> words = List.of(args);
    boolean isNamed = false;
    for (Class<?> verb : verbs) {
      if (words.contains(name(verb))) {
        command.addSubcommand(verb);
        isNamed = true;
      }
    }
    if (!isNamed) {
      for (Class<?> verb : verbs) {
        command.addSubcommand(name(verb), described(verb));
      }
    }
    return command
        .setUsageHelpAutoWidth(true)
        .setParameterExceptionHandler(new BadUsage())
        .setExecutionExceptionHandler(new Failed());
  }

  private static String name(Class<?> verb) {
    return verb.getAnnotation(Command.class).name();
  }

  private static CommandSpec described(Class<?> verb) {
    CommandSpec spec = CommandSpec.create().name(name(verb));
    spec.usageMessage().description(verb.getAnnotation(Command.class).description());
    return spec;
  }

  private static final class BadUsage implements IParameterExceptionHandler {
    @Override
    public int handleParseException(ParameterException e, String[] args) {
      CommandLine command = e.getCommandLine();
      PrintWriter err = command.getErr();
      err.println(e.getMessage());
      err.printf("Try '%s --help'.%n", command.getCommandSpec().qualifiedName());
      return CommandLine.ExitCode.USAGE;
    }
  }

  private static final class Failed implements IExecutionExceptionHandler {
    @Override
    public int handleExecutionException(
        Exception e, CommandLine command, CommandLine.ParseResult parsed) throws Exception {
      if (e instanceof Api.RefusedException refused) {
        command.getErr().println(e.getMessage());
        Fairleadctl root = (Fairleadctl) command.getCommandSpec().root().userObject();
        if (refused.isUnauthorized() && root.token(root.api()).isEmpty()) {
          command
              .getErr()
              .printf(
                  "fairleadctl has no token for %s: it needs --token-file, or to be run as the user"
                      + " of a controller of this host that made one (%s has none)%n",
                  root.api(), root.ofHost.path());
        }
        return REFUSED;
      }
      if (e instanceof Api.UnreachableException) {
        command.getErr().println(e.getMessage());
        return UNREACHABLE;
      }
      throw e;
    }
  }
}
