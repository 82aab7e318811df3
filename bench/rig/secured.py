# SPDX-License-Identifier: Apache-2.0
"""The rows over TLS and SASL: a server of their own, and processes of Java with the options for each kind of connection."""
import shutil
import tempfile
from pathlib import Path

from lab import Lab, Process

CLEAR, SASL, TLS = "clear text", "SASL DIGEST-MD5", "TLS"
USER, PASSWORD = "alice", "correct horse battery staple"  # as tests/faults/security.c
WARM_UP_OPS = 2000


def _java_options(kind, folder, own):
    """folder: the certificates; own: for files that Java needs."""
    if kind == SASL:
        login = own / "jaas.conf"
        login.write_text("Client {\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                         f'  username="{USER}" password="{PASSWORD}";\n}};\n', encoding="ascii")
        return [f"-Djava.security.auth.login.config={login}"]
    if kind == TLS:
        store = own / "client.pem"
        store.write_text((folder / "client.pem").read_text("ascii") + (folder / "client.key").read_text("ascii"), "ascii")
        return ["-Dzookeeper.client.secure=true", "-Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty",
                f"-Dzookeeper.ssl.trustStore.location={folder / 'ca.pem'}", "-Dzookeeper.ssl.trustStore.type=PEM",
                f"-Dzookeeper.ssl.keyStore.location={store}", "-Dzookeeper.ssl.keyStore.type=PEM",
                # The certificate has the name zk.test; C verifies that name.
                "-Dzookeeper.ssl.hostnameVerification=false"]
    return []


class SecuredLab(Lab):
    """A server that speaks all three kinds, and the peers that use it."""

    def __init__(self, program, programs, warm_up_ops):
        super().__init__(program, "secured")
        self.programs, self.warm_up_ops = programs, min(WARM_UP_OPS, warm_up_ops) * 5
        self.own = Path(tempfile.mkdtemp(prefix="curator-bench-"))
        self.playing = {}

    def _argv(self, name, kind):
        argv = list(self.programs[name])
        if name == "java":
            argv[argv.index("-cp") + 1] += self.jars
            argv[1:1] = _java_options(kind, Path(self.folder), self.own)
        return argv

    def where(self, name, kind):
        """The words of a request that say how to connect."""
        server = self.secure if kind == TLS else self.server
        return f"server={server}" + (f" security={'tls' if kind == TLS else 'sasl'} folder={self.folder}"
                                     if name == "c" and kind != CLEAR else "")

    def peer(self, name, kind):
        if (name, kind) not in self.playing:
            peer = self.playing[name, kind] = Process(name, self._argv(name, kind))
            peer.ask(f"solo {self.where(name, kind)} path=/bench/warm recipe=mutex ops={self.warm_up_ops}")
        return self.playing[name, kind]

    def dismiss_all(self):
        for peer in self.playing.values():
            peer.stop(1)
        self.playing.clear()

    def stop(self, patience_s=30):
        self.dismiss_all()
        super().stop(patience_s)
        shutil.rmtree(self.own, ignore_errors=True)
