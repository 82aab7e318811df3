# SPDX-License-Identifier: Apache-2.0
"""The resources that the examples guard: each is started, read by tools of its own, killed, started again; and the disk below them."""
import contextlib
import glob
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import threading
import time
import urllib.request

import object_store

PATIENCE_S = 120


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def state_of(pid):
    """The letter of /proc/PID/stat, or '' if there is no such process."""
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
            return stat.read().rpartition(')')[2].split()[0]
    except FileNotFoundError:
        return ''


class LossyDisk:
    """The other half of lossy_disk.c, for one folder."""

    def __init__(self, folder, library):
        self.folder, self.kept, self.board = folder, f'{folder}.disk', f'{folder}.board'
        self.tell()
        os.chmod(self.board, 0o666)
        self.environment = dict(os.environ, LOSSY_DISK=folder)
        if library:
            self.environment['LD_PRELOAD'] = shutil.copy(library, os.path.dirname(folder))
        self.sync()

    def tell(self, n_left=0, is_off=0, forgets=0):
        """The record of lossy_disk.c; in place, since processes have mapped it."""
        with open(self.board, 'r+b' if os.path.exists(self.board) else 'wb') as board:
            board.write(struct.pack('III', n_left, is_off, forgets))

    def is_off(self):
        with open(self.board, 'rb') as board:
            return struct.unpack('III', board.read())[1] != 0

    def sync(self):
        """All that is there now is kept."""
        shutil.rmtree(self.kept, ignore_errors=True)
        os.mkdir(self.kept)
        os.chmod(self.kept, 0o777)
        for place, _, _ in os.walk(self.folder):
            with os.scandir(place) as entries, open(f'{self.kept}/{os.stat(place).st_ino}', 'w', encoding='utf-8') as names:
                for entry in entries:
                    names.write(f'{entry.inode()} {int(entry.is_dir())} {entry.name}\n')
                    if entry.is_file():
                        shutil.copyfile(entry.path, f'{self.kept}/{entry.inode()}')

    def build(self, place, inode, status):
        os.mkdir(place)
        kept = f'{self.kept}/{inode}'
        with open(kept if os.path.exists(kept) else os.devnull, encoding='utf-8') as names:
            for line in names:
                number, is_dir, name = line.rstrip('\n').split(' ', 2)
                path = f'{place}/{name}'
                if name in ('.', '..'):
                    continue
                if is_dir == '1':
                    self.build(path, number, status)
                elif os.path.exists(f'{self.kept}/{number}'):
                    shutil.copyfile(f'{self.kept}/{number}', path)
                else:
                    open(path, 'wb').close()
                if is_dir == '0':
                    os.chmod(path, 0o600)
                    os.chown(path, status.st_uid, status.st_gid)
        os.chmod(place, status.st_mode & 0o777)
        os.chown(place, status.st_uid, status.st_gid)

    def drop(self):
        """As after a loss of power."""
        fresh = f'{self.folder}.fresh'
        status = os.stat(self.folder)
        self.build(fresh, status.st_ino, status)
        shutil.rmtree(self.folder)
        os.rename(fresh, self.folder)


class Resource:
    """One kind. where: what its writers are told. disk: None if it has none of its own."""
    disk = None
    server = None  # its process
    as_owner = staticmethod(list)  # a command as the user whose processes they are

    def __init__(self, folder, library=None):
        self.base = os.path.realpath(folder)
        os.chmod(self.base, 0o777)
        self.data = f'{self.base}/data'
        os.mkdir(self.data)
        self.library = library
        self.where = self.data

    def __enter__(self):
        self.prepare()
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def prepare(self):
        pass

    def start(self):
        pass

    def pids(self):
        """The processes whose folder is that of the data."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError):
                if os.readlink(f'/proc/{pid}/cwd') == self.data:
                    found.append(int(pid))
        return found

    def kill(self):
        """Every process of it."""
        def is_dead():
            pids = self.pids()
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not pids
        wait_until(is_dead, 'a killed process lives')
        if self.server is not None:
            self.server.wait()

    def limit(self, most):
        """No file gets longer than that."""
        for pid in self.pids():
            subprocess.run(self.as_owner(['prlimit', f'--pid={pid}', f'--fsize={most}:']), check=False, stderr=subprocess.DEVNULL)

    def environment(self):
        return self.disk.environment if self.disk is not None else os.environ

    def restart(self):
        """The disk has kept what it has."""
        self.disk.sync()
        self.disk.tell()
        self.start()


class File(Resource):
    def read(self, name):
        with open(f'{self.data}/{name}', encoding='ascii') as stream:
            return stream.read().strip().partition(' ')[2]


class Sqlite(Resource):
    def read(self, name):
        with contextlib.closing(sqlite3.connect(f'{self.data}/{name}')) as database:
            return database.execute('SELECT body FROM report').fetchone()[0]


class Redis(Resource):
    fsync = 'always'

    def prepare(self):
        self.where = f'{self.base}/socket'
        if self.library:
            self.start()
            self.kill()
            self.disk = LossyDisk(self.data, self.library)

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.where)
        # Also SIGXFSZ stays ignored, which Python ignores.
        self.server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', self.where, '--save', '', '--dir', self.data,
                                        '--daemonize', 'no', '--appendonly', 'yes', '--appendfsync', self.fsync],
                                       stdout=subprocess.DEVNULL, env=self.environment(), restore_signals=False)
        wait_until(lambda: self.ask('PING') == 'PONG', 'no Redis')

    def ask(self, *command):
        return subprocess.run(['redis-cli', '-s', self.where, *command], check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True).stdout.strip()

    def read(self, name):
        return self.ask('HGET', name, 'body')

    def position(self):
        return max(os.path.getsize(path) for path in glob.glob(f'{self.data}/appendonlydir/*.incr.aof'))


def as_nobody(command):  # PostgreSQL refuses to run as root
    return ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', *command] if os.geteuid() == 0 else command


class Postgres(Resource):
    SEGMENT = 1 << 20
    as_owner = staticmethod(as_nobody)

    def prepare(self):
        self.where = f'host={self.base} user=tester dbname=postgres'
        os.environ['PGOPTIONS'] = '-c client_min_messages=warning'
        self.bin = os.path.dirname(sorted(glob.glob('/usr/lib/postgresql/*/bin/initdb'))[-1])
        os.rmdir(self.data)
        subprocess.run(as_nobody([f'{self.bin}/initdb', '-D', self.data, '-U', 'tester', '-A', 'trust', '--no-sync', '--no-instructions',
                                  f'--wal-segsize={self.SEGMENT >> 20}']), check=True, stdout=subprocess.DEVNULL)
        self.start('-c fsync=off')
        subprocess.run(['psql', '-q', self.where, '-c', 'CREATE TABLE report (name text PRIMARY KEY, body text, token bigint NOT NULL)'],
                       check=True)
        if self.library:
            self.control('stop', '-m', 'fast')
            self.disk = LossyDisk(self.data, self.library)

    def control(self, *arguments):
        done = subprocess.run(as_nobody([f'{self.bin}/pg_ctl', '-D', self.data, '-w', '-l', f'{self.base}/log', *arguments]),
                              check=False, stdout=subprocess.DEVNULL, env=self.environment())
        if done.returncode != 0:
            with open(f'{self.base}/log', encoding='utf-8') as log:
                raise RuntimeError(f'pg_ctl {arguments[0]}: {log.read()[-4000:]}')

    def start(self, more=''):
        if not self.pids():
            # Nobody need have reaped who wrote these.
            for lock in (f'{self.data}/postmaster.pid', f'{self.base}/.s.PGSQL.5432.lock'):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(lock)
            self.control('-o', f'-k {self.base} -c listen_addresses= -c dynamic_shared_memory_type=mmap -c recovery_init_sync_method=syncfs'
                         f' {more}', 'start')

    def kill(self):
        """Its segment of shared memory would stay."""
        lines = []
        with contextlib.suppress(FileNotFoundError), open(f'{self.data}/postmaster.pid', encoding='ascii') as file:
            lines = file.read().splitlines()
        super().kill()
        if len(lines) > 6:
            subprocess.run(['ipcrm', '--shmem-id', lines[6].split()[1]], check=False, stderr=subprocess.DEVNULL)

    def ask(self, query):
        return subprocess.run(['psql', '-At', self.where, '-c', query], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def read(self, name):
        return self.ask(f"SELECT body FROM report WHERE name = '{name}'")

    def position(self):
        return int(float(self.ask(f"SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') % {self.SEGMENT}")))


class Put(Resource):
    def start(self):
        self.store = object_store.ObjectStore()
        threading.Thread(target=self.store.serve_forever, daemon=True).start()
        self.where = f'http://127.0.0.1:{self.store.server_port}'

    def kill(self):
        self.store.shutdown()
        self.store.server_close()

    def read(self, name):
        with urllib.request.urlopen(f'{self.where}/{name}', timeout=PATIENCE_S) as answer:
            return answer.read().decode().partition(' ')[2]

    def limit(self, most):
        self.store.room = most


KINDS = {'file': File, 'sqlite': Sqlite, 'redis': Redis, 'postgres': Postgres, 'put': Put}
