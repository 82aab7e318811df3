# SPDX-License-Identifier: Apache-2.0
"""An object store in memory, with conditional writes as RFC 9110 has them. It stops a reader whose process it is asked to stop, once."""
import http.server
import os
import signal
import threading
import urllib.parse


class ObjectStore(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Request)
        self.objects = {}  # path -> (version, body)
        self.stopped = set()
        self.room = None  # for the next object, in bytes
        self.mutex = threading.Lock()

    def handle_error(self, *_):
        """Of a client that was killed."""


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def answer(self, status, body=b'', version=None):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        if version is not None:
            self.send_header('ETag', f'"{version}"')
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        pid = int(urllib.parse.parse_qs(url.query).get('stop', ['0'])[0])
        with self.server.mutex:
            version, body = self.server.objects.get(url.path, (None, b''))
        if pid and pid not in self.server.stopped:
            self.server.stopped.add(pid)
            os.kill(pid, signal.SIGSTOP)  # the answer waits in its socket
        self.answer(200 if version else 404, body, version)

    def do_PUT(self):
        path = urllib.parse.urlparse(self.path).path
        body = self.rfile.read(int(self.headers['Content-Length']))
        with self.server.mutex:
            version = self.server.objects.get(path, (0, b''))[0]
            wanted, absent = self.headers['If-Match'], self.headers['If-None-Match']
            if (wanted and wanted != f'"{version}"') or (absent == '*' and version):
                self.answer(412)
                return
            if self.server.room is not None and len(body) > self.server.room:
                self.answer(507)
                return
            self.server.objects[path] = (version + 1, body)
        self.answer(201, version=version + 1)
