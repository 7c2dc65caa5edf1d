// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Base64;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;

/**
 * A self-signed certificate for 127.0.0.1, made by the JDK's keytool, and its key; both as PEM
 * files.
 */
public record Certificate(X509Certificate x509, Path pem, Path key) {
  private static final String PASSWORD = "only for this test";

  /** Writes {@code name.pem} and {@code name.key}, replacing existing ones. */
  public static Certificate make(Path directory, String name) {
    return make(directory, name, "san=ip:127.0.0.1");
  }

  /** As above, with these alternative names instead of 127.0.0.1, as keytool takes them. */
  public static Certificate make(Path directory, String name, String alternativeNames) {
    try {
      Path store = directory.resolve(name + ".p12");
      Files.deleteIfExists(store);
      Process keytool =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                  "-genkeypair",
                  "-alias",
                  "it",
                  "-keyalg",
                  "EC",
                  "-dname",
                  "CN=" + name,
                  "-ext",
                  alternativeNames,
                  "-storetype",
                  "PKCS12",
                  "-keystore",
                  store.toString(),
                  "-storepass",
                  PASSWORD)
              .redirectErrorStream(true)
              .start();
      String said = new String(keytool.getInputStream().readAllBytes());
      if (keytool.waitFor() != 0) {
        throw new IllegalStateException("keytool: " + said);
      }
      KeyStore keys = KeyStore.getInstance("PKCS12");
      try (InputStream in = Files.newInputStream(store)) {
        keys.load(in, PASSWORD.toCharArray());
      }
      X509Certificate x509 = (X509Certificate) keys.getCertificate("it");
      Key key = keys.getKey("it", PASSWORD.toCharArray());
      Path pem =
          Files.writeString(
              directory.resolve(name + ".pem"), pem(x509.getEncoded(), "CERTIFICATE"));
      Path keyFile =
          Files.writeString(directory.resolve(name + ".key"), pem(key.getEncoded(), "PRIVATE KEY"));
      Files.setPosixFilePermissions(keyFile, PosixFilePermissions.fromString("rw-------"));
      return new Certificate(x509, pem, keyFile);
    } catch (IOException | GeneralSecurityException | InterruptedException e) {
      throw new IllegalStateException("no certificate could be made", e);
    }
  }

  /** For a client that trusts this certificate and no other. */
  public SSLContext trust() {
    return trust(new KeyManager[0]);
  }

  /** As {@link #trust()}, for a client that shows {@code own}, whoever the server asks for. */
  public SSLContext trust(Certificate own) {
    try {
      KeyStore keys = KeyStore.getInstance("PKCS12");
      try (InputStream in = Files.newInputStream(own.store())) {
        keys.load(in, PASSWORD.toCharArray());
      }
      PrivateKey key = (PrivateKey) keys.getKey("it", PASSWORD.toCharArray());
      return trust(new KeyManager[] {new Shown(own.x509(), key)});
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalStateException("the certificate cannot be shown", e);
    }
  }

  private Path store() {
    return pem.resolveSibling(pem.getFileName().toString().replace(".pem", ".p12"));
  }

  /** The JDK's own shows a certificate only to servers that name its issuer. */
  private static final class Shown extends X509ExtendedKeyManager {
    private final X509Certificate certificate;
    private final PrivateKey key;

    Shown(X509Certificate certificate, PrivateKey key) {
      this.certificate = certificate;
      this.key = key;
    }

    @Override
    public String[] getClientAliases(String type, Principal[] issuers) {
      return new String[] {"it"};
    }

    @Override
    public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
      return "it";
    }

    @Override
    public String chooseEngineClientAlias(String[] types, Principal[] issuers, SSLEngine engine) {
      return "it";
    }

    @Override
    public String[] getServerAliases(String type, Principal[] issuers) {
      return new String[0];
    }

    @Override
    public String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
      return null;
    }

    @Override
    public X509Certificate[] getCertificateChain(String alias) {
      return new X509Certificate[] {certificate};
    }

    @Override
    public PrivateKey getPrivateKey(String alias) {
      return key;
    }
  }

  private SSLContext trust(KeyManager[] own) {
    try {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      trusted.setCertificateEntry("it", x509);
      TrustManagerFactory factory =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(own, factory.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalStateException("the certificate cannot be trusted", e);
    }
  }

  private static String pem(byte[] der, String what) {
    String base64 = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return "-----BEGIN %s-----%n%s%n-----END %s-----%n".formatted(what, base64, what);
  }
}
