# SPDX-License-Identifier: Apache-2.0
"""An authority that signs certificates for tests, by openssl."""

import subprocess
from pathlib import Path


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


class Authority:
    def __init__(self, folder: Path, name: str = "authority"):
        self.folder, self.name = folder, name
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
        words += ["-subj", f"/CN={name}", "-keyout", str(self.key), "-out", str(self.certificate)]
        openssl(*words)

    def sign(self, name: str, names: str = "IP:127.0.0.1", days: int = 30, usage: str = "") -> tuple[Path, Path]:
        """A certificate and its key; names as in subjectAltName. A negative number of days: it has expired."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        words = ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl(*words, "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request))
        extensions.write_text(f"subjectAltName={names}\n" + (f"extendedKeyUsage={usage}\n" if usage else ""))
        words = ["x509", "-req", "-in", str(request), "-CA", str(self.certificate), "-CAkey", str(self.key)]
        words += ["-CAcreateserial", "-days", str(days), "-extfile", str(extensions), "-out", str(certificate)]
        openssl(*words)
        key.chmod(0o600)
        return certificate, key
