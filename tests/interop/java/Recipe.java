// SPDX-License-Identifier: Apache-2.0
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.utils.ZKPaths;

/** One of Curator's lock recipes, as one thread uses it. */
interface Recipe
{
    void acquire() throws Exception;

    /** Full path of the node by which the calling thread holds the lock. */
    String nodePath() throws Exception;

    void release() throws Exception;

    /** Creates the recipe for each new thread, numbered from 1. The threads of a process share what they can. */
    interface Factory
    {
        Recipe forThread(int thread);
    }

    static Factory named(String name, CuratorFramework client, String path) throws Exception
    {
        if (name.equals("mutex"))
        {
            Mutex shared = new Mutex(client, path);
            return thread -> shared;
        }
        if (name.equals("read") || name.equals("write") || name.equals("rw"))
        {
            WriteLock write = new WriteLock(client, path);
            ReadLock read = new ReadLock(client, path, write);
            boolean mixed = name.equals("rw");
            return thread -> name.equals("read") || (mixed && thread % 2 == 1) ? read : write;
        }
        if (name.equals("semmutex"))
        {
            return thread -> new SemaphoreMutex(client, path);
        }
        if (name.startsWith("semaphore:"))
        {
            int leases = Integer.parseInt(name.substring("semaphore:".length()));
            InterProcessSemaphoreV2 shared = new InterProcessSemaphoreV2(client, path, leases);
            return thread -> new Semaphore(shared, path);
        }
        if (name.startsWith("counted:"))
        {
            SharedCount count = new SharedCount(client, name.substring("counted:".length()), 1);
            count.start();
            InterProcessSemaphoreV2 shared = new InterProcessSemaphoreV2(client, path, count);
            return thread -> new Semaphore(shared, path);
        }
        if (name.startsWith("paths:"))
        {
            Paths shared = new Paths(client, path, Integer.parseInt(name.substring("paths:".length())));
            return thread -> shared;
        }
        throw new IllegalArgumentException("no such recipe: " + name);
    }

    /** Curator exposes the path of a hold to subclasses only. */
    class Mutex extends InterProcessMutex implements Recipe
    {
        Mutex(CuratorFramework client, String path)
        {
            super(client, path);
        }

        @Override
        public String nodePath()
        {
            return getLockPath();
        }
    }

    /** A multi-lock of the mutexes path/0, path/1, and so on. */
    class Paths extends InterProcessMultiLock implements Recipe
    {
        private final Mutex first;

        Paths(CuratorFramework client, String path, int n)
        {
            this(IntStream.range(0, n).mapToObj(i -> new Mutex(client, ZKPaths.makePath(path, "" + i)))
                .collect(Collectors.toList()));
        }

        private Paths(List<Mutex> members)
        {
            super(List.copyOf(members));
            first = members.get(0);
        }

        @Override
        public String nodePath()
        {
            return first.nodePath();
        }
    }

    class WriteLock extends InterProcessReadWriteLock.WriteLock implements Recipe
    {
        WriteLock(CuratorFramework client, String path)
        {
            super(client, path, null);
        }

        @Override
        public String nodePath()
        {
            return getLockPath();
        }
    }

    class ReadLock extends InterProcessReadWriteLock.ReadLock implements Recipe
    {
        ReadLock(CuratorFramework client, String path, WriteLock write)
        {
            super(client, path, null, write);
        }

        @Override
        public String nodePath()
        {
            return getLockPath();
        }
    }

    class Semaphore implements Recipe
    {
        private final InterProcessSemaphoreV2 semaphore;
        private final String path;
        private Lease lease;

        Semaphore(InterProcessSemaphoreV2 semaphore, String path)
        {
            this.semaphore = semaphore;
            this.path = path;
        }

        @Override
        public void acquire() throws Exception
        {
            lease = semaphore.acquire();
        }

        @Override
        public String nodePath()
        {
            return ZKPaths.makePath(path, "leases", lease.getNodeName());
        }

        @Override
        public void release()
        {
            semaphore.returnLease(lease);
        }
    }

    class SemaphoreMutex implements Recipe
    {
        private final CuratorFramework client;
        private final String leases;
        private final InterProcessSemaphoreMutex mutex;

        SemaphoreMutex(CuratorFramework client, String path)
        {
            this.client = client;
            this.leases = ZKPaths.makePath(path, "leases");
            this.mutex = new InterProcessSemaphoreMutex(client, path);
        }

        @Override
        public void acquire() throws Exception
        {
            if (!mutex.acquire(Integer.MAX_VALUE, TimeUnit.MILLISECONDS))
            {
                throw new IllegalStateException("not acquired");
            }
        }

        /** The recipe hides its lease. At most one contender has a node besides the holder's, with a higher number. */
        @Override
        public String nodePath() throws Exception
        {
            return client.getChildren().forPath(leases).stream()
                .min(Comparator.comparing(name -> name.substring(name.length() - 10)))
                .map(name -> ZKPaths.makePath(leases, name))
                .orElseThrow();
        }

        @Override
        public void release() throws Exception
        {
            mutex.release();
        }
    }
}
