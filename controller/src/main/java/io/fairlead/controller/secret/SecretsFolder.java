// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.secret;

import com.google.common.hash.Hashing;
import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The folder of secrets that a controller draws at its first start, and in which fairleadctl on the
 * same host finds the admin's token:
 *
 * <pre>
 * tokens           as --tokens has it: admin's digest
 * admin-token      the token itself
 * api              the URLs to which fairleadctl sends it, those of the last controller first
 * zookeeper-auth   as --zookeeper-auth has it
 * </pre>
 */
public record SecretsFolder(Path path) {
  public static final String OPTION = "--secrets";
  public static final String VARIABLE = "FAIRLEAD_CONTROLLER_SECRETS";

  /** The folder of Debian's unit, so that root finds what the unit has drawn. */
  private static final String OF_ROOT = "/var/lib/fairlead/controller/secrets";

  private static final int DRAWN_BYTES = 32;
  private static final int APIS_MAX = 8;

  /** Where a controller of this user keeps it if it is not told: in systemd's folder, if any. */
  public static SecretsFolder ofController(Map<String, String> environment) {
    String state = environment.getOrDefault("STATE_DIRECTORY", "").split(":", 2)[0];
    return state.isEmpty()
        ? ofUser(environment)
        : new SecretsFolder(Path.of(state).resolve("secrets"));
  }

  /** Where fairleadctl looks for it. */
  public static SecretsFolder ofUser(Map<String, String> environment) {
    String named = environment.getOrDefault(VARIABLE, "");
    if (!named.isEmpty()) {
      return new SecretsFolder(Path.of(named));
    }
    if ("root".equals(System.getProperty("user.name"))) {
      return new SecretsFolder(Path.of(OF_ROOT));
    }
    String state = environment.getOrDefault("XDG_STATE_HOME", "");
    Path home = Path.of(System.getProperty("user.home"), ".local", "state");
    return new SecretsFolder((state.isEmpty() ? home : Path.of(state)).resolve("fairlead"));
  }

  public SecretFile tokens() {
    return file("tokens");
  }

  public SecretFile adminToken() {
    return file("admin-token");
  }

  public SecretFile logins() {
    return file("zookeeper-auth");
  }

  private SecretFile apis() {
    return file("api");
  }

  private SecretFile file(String name) {
    return new SecretFile(OPTION, path.resolve(name));
  }

  /**
   * Draws what is not there yet.
   *
   * @return the files that it has made
   * @throws IOException naming the folder and what is allowed
   */
  public List<Path> draw(boolean wantsTokens, boolean wantsLogins) throws IOException {
    List<Path> made = new ArrayList<>();
    try {
      Files.createDirectories(path.toAbsolutePath().getParent());
      if (Files.notExists(path)) {
        Files.createDirectories(
            path,
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      }
      // Two controllers of one host draw once; the lock ends with the channel.
      try (FileChannel channel =
          FileChannel.open(
              path.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        channel.lock();
        if (wantsTokens && Files.notExists(tokens().path())) {
          String token = random();
          made.add(write(adminToken(), token));
          made.add(write(tokens(), "admin admin sha256:" + digest(token)));
        }
        if (wantsLogins && Files.notExists(logins().path())) {
          made.add(write(logins(), "controllers:" + random() + "\nreaders:" + random()));
        }
      }
    } catch (FileSystemException e) {
      throw new IOException(
          "the secrets cannot be kept in %s: %s; allowed: a folder that this user can create and write, given by %s"
              .formatted(path, FileFault.of(e), OPTION),
          e);
    }
    return made;
  }

  private static Path write(SecretFile file, String text) throws IOException {
    PrivateFile.replace(file.path(), (text + "\n").getBytes(StandardCharsets.UTF_8));
    return file.path();
  }

  private static String random() {
    return RandomHex.draw(DRAWN_BYTES, new SecureRandom());
  }

  private static String digest(String token) {
    return Hashing.sha256().hashString(token, StandardCharsets.UTF_8).toString();
  }

  /** Lets fairleadctl send the admin's token to these URLs, and still to the former ones. */
  public void name(List<String> urls) throws IOException {
    Set<String> all = new LinkedHashSet<>(urls);
    if (Files.exists(apis().path())) {
      apis().lines().forEach(line -> all.add(line.text()));
    }
    write(apis(), String.join("\n", all.stream().limit(APIS_MAX).toList()));
  }

  /** The API of the controller that was started last; empty if there is none for this user. */
  public Optional<String> api() {
    return isForUs()
        ? apis().lines().stream().map(SecretFile.Line::text).findFirst()
        : Optional.empty();
  }

  /**
   * The admin's token, if it is one of the API at {@code url}.
   *
   * @throws IllegalArgumentException if others than its owner could read or change it
   */
  public Optional<SecretFile> tokenOf(String url) {
    return isForUs()
            && apis().lines().stream().anyMatch(line -> origin(line.text()).equals(origin(url)))
        ? Optional.of(adminToken())
        : Optional.empty();
  }

  private boolean isForUs() {
    return Files.isReadable(apis().path()) && Files.isReadable(adminToken().path());
  }

  /** Scheme, host and port: what the token is sent to. */
  private static List<String> origin(String url) {
    try {
      URI uri = URI.create(url.toLowerCase(Locale.ROOT));
      String scheme = String.valueOf(uri.getScheme());
      int port = uri.getPort() >= 0 ? uri.getPort() : scheme.equals("https") ? 443 : 80;
      return List.of(scheme, String.valueOf(uri.getHost()), Integer.toString(port));
    } catch (IllegalArgumentException e) {
      return List.of(); // Api says what is wrong with it
    }
  }
}
