"""An authority and a server's certificate, made for the occasion."""

import subprocess

CONFIG = """[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = {}
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


def make_certificates(directory, name):
    """ca.pem, and server.pem with server.key, which no other may read. The
    authority's own key is gone when this returns."""
    names = f"DNS:{name}" + ", IP:127.0.0.1" * (name == "localhost")
    config = directory / "openssl.cnf"
    config.write_text(CONFIG.format(names))
    made = ["openssl", "req", "-x509", "-config", config, "-newkey", "ec",
            "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "365"]
    authority = ["-subj", "/CN=Stand-in authority", "-extensions", "ca",
                 "-keyout", directory / "ca.key", "-out",
                 directory / "ca.pem"]
    server = ["-subj", f"/CN={name}", "-extensions", "server", "-CA",
              directory / "ca.pem", "-CAkey", directory / "ca.key",
              "-keyout", directory / "server.key", "-out",
              directory / "server.pem"]
    for arguments in (authority, server):
        subprocess.run(made + arguments, check=True, capture_output=True,
                       umask=0o077)
    (directory / "ca.pem").chmod(0o644)
    (directory / "ca.key").unlink()
    config.unlink()
