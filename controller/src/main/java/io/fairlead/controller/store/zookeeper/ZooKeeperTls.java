// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.secret.SecretFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Optional;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.X509Exception;
import org.apache.zookeeper.common.X509Util;

/**
 * TLS to ZooKeeper's servers, whose certificates must name the hosts as the connect string does.
 * The client reads the files again with each connection that it makes.
 *
 * @param authorities who signs the servers' certificates, PEM
 * @param identity this client's key and its certificates in one PEM file, for servers that ask
 */
public record ZooKeeperTls(Path authorities, Optional<SecretFile> identity) {
  /** ZooKeeper would else tell a file's kind by the end of its name. */
  private static final String PEM = "PEM";

  private static final String CA = "--zookeeper-tls-ca";
  private static final String NO_PASSWORD = "";

  /**
   * @throws IllegalArgumentException naming the option, if a file cannot be used
   */
  public ZooKeeperTls {
    if (!Files.isReadable(authorities)) {
      throw refused(authorities, "it is not there, or cannot be read", "a file that can be read");
    }
    identity.ifPresent(SecretFile::check);
    trusted(authorities);
    identity.ifPresent(ZooKeeperTls::key);
  }

  void configure(ZKClientConfig config) {
    config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
    config.setProperty(
        ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
    config.setProperty("zookeeper.ssl.hostnameVerification", "true");
    config.setProperty("zookeeper.ssl.trustStore.location", authorities.toString());
    config.setProperty("zookeeper.ssl.trustStore.type", PEM);
    identity.ifPresent(
        file -> {
          config.setProperty("zookeeper.ssl.keyStore.location", file.path().toString());
          config.setProperty("zookeeper.ssl.keyStore.type", PEM);
        });
  }

  /** By the files as they are now. */
  SSLContext context() throws GeneralSecurityException {
    identity.ifPresent(SecretFile::check);
    SSLContext context = SSLContext.getInstance("TLS");
    KeyManager[] keys =
        identity.map(file -> new KeyManager[] {key(file)}).orElseGet(() -> new KeyManager[0]);
    context.init(keys, new TrustManager[] {trusted(authorities)}, null);
    return context;
  }

  private static TrustManager trusted(Path authorities) {
    try {
      return X509Util.createTrustManager(
          authorities.toString(), NO_PASSWORD, PEM, false, false, false, false, false, true);
    } catch (X509Exception.TrustManagerException e) {
      throw refused(authorities, "no certificate is in it: " + root(e), "PEM certificates");
    }
  }

  private static KeyManager key(SecretFile file) {
    try {
      return X509Util.createKeyManager(file.path().toString(), NO_PASSWORD, PEM);
    } catch (X509Exception.KeyManagerException e) {
      throw file.refused(
          "key and certificate cannot be read from it: " + root(e),
          "a PEM file with a key (PKCS #8, without a password) and its certificates");
    }
  }

  private static IllegalArgumentException refused(Path path, String why, String allowed) {
    return new IllegalArgumentException(
        "%s '%s' is refused: %s; allowed: %s".formatted(CA, path, why, allowed));
  }

  static String root(Throwable e) {
    Throwable cause = e;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause.getMessage();
  }
}
