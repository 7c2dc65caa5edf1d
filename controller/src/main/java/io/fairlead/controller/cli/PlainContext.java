// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.security.KeyManagementException;
import java.security.SecureRandom;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/**
 * For a client of plain HTTP. Without a context of its own Java's client makes the default one,
 * which reads the system's certificate authorities: a third of the time of a short command. This
 * one refuses to speak TLS.
 */
final class PlainContext extends SSLContext {
  PlainContext() {
    super(new Refusing(), null, "TLS");
  }

  private static final class Refusing extends SSLContextSpi {
    private static final String PROTOCOL = "TLSv1.3";

    @Override
    protected void engineInit(KeyManager[] keys, TrustManager[] trusted, SecureRandom random)
        throws KeyManagementException {
      throw new KeyManagementException("TLS to a controller with a URL of http");
    }

    @Override
    protected SSLParameters engineGetDefaultSSLParameters() {
      return new SSLParameters(new String[0], new String[] {PROTOCOL});
    }

    @Override
    protected SSLParameters engineGetSupportedSSLParameters() {
      return engineGetDefaultSSLParameters();
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
      throw refused();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
      throw refused();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
      throw refused();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
      throw refused();
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
      throw refused();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
      throw refused();
    }

    private static IllegalStateException refused() {
      return new IllegalStateException("TLS to a controller with a URL of http");
    }
  }
}
