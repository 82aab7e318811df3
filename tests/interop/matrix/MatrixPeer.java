// SPDX-License-Identifier: Apache-2.0
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.data.Stat;

/**
 * The peer of scripts/matrix. It compiles against every Curator from 2.13 on: it uses only what each of them has.
 *
 * <pre>
 * MatrixPeer CONNECT PATH THREADS ACQUISITIONS HOLD-MS RECIPE      threads that take turns, as LockWorker's do
 * MatrixPeer CONNECT SESSION-MS                                    commands on stdin, each answered by one line:
 *
 * acquire NAME RECIPE PATH MS      ACQUIRED NAME, TIMED_OUT NAME; MS -1: no limit. Each name is a thread.
 * release NAME                     RELEASED NAME
 * downgrade NAME                   holds the write lock, releases it for the read lock: DOWNGRADED NAME
 * revocable NAME RECIPE PATH       acquires it: ACQUIRED NAME; for a request ASKED NAME
 * revoke NODE                      REVOKED NODE
 * revoke-packed NODE               the same in gzip
 * read NODE                        READ DATA, which must be in gzip
 * lead NAME PATH                   a candidate: LEADING NAME, FOLLOWING NAME whenever its latch says so
 * leads NAME                       LEADS NAME or FOLLOWS NAME, as its latch answers
 * count PATH SEED                  COUNT value; later CHANGED value
 * set VALUE                        SET value
 *
 * STATE state                      of the connection, whenever it changes
 * ERROR text                       something failed
 * </pre>
 *
 * Recipes: mutex, semmutex, semaphore:N, counted:SHARED-COUNT-PATH, read, write, multi; for threads also rw (odd threads
 * read, even ones write). With the system property "compression" the client calls enableCompression.
 */
final class MatrixPeer
{
    private interface Hold
    {
        /** FALSE when the time is over; negative: no limit. */
        boolean acquire(long ms) throws Exception;

        String nodePath() throws Exception;

        void release() throws Exception;
    }

    /** The path of a hold is protected. */
    private static final class OpenMutex extends InterProcessMutex
    {
        OpenMutex(CuratorFramework client, String path)
        {
            super(client, path);
        }

        String nodePath()
        {
            return getLockPath();
        }
    }

    private static synchronized void tell(String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    private static void fail(Throwable cause)
    {
        tell("ERROR " + cause.toString().replace('\n', ' '));
    }

    private static boolean take(InterProcessLock lock, long ms) throws Exception
    {
        if (ms >= 0)
        {
            return lock.acquire(ms, TimeUnit.MILLISECONDS);
        }
        lock.acquire();
        return true;
    }

    private static String number(String node)
    {
        return node.substring(Math.max(node.length() - 10, 0));
    }

    /** The recipe hides its lease. At most one contender has a node besides the holder's, with a higher number. */
    private static String lowest(CuratorFramework client, String parent) throws Exception
    {
        String lowest = null;
        for (String name : client.getChildren().forPath(parent))
        {
            lowest = lowest == null || number(name).compareTo(number(lowest)) < 0 ? name : lowest;
        }
        return ZKPaths.makePath(parent, lowest);
    }

    /** Older versions hide the nodes of read-write locks: each hold has a payload of its own. */
    private static String withPayload(CuratorFramework client, String parent, byte[] payload) throws Exception
    {
        for (String name : client.getChildren().forPath(parent))
        {
            String path = ZKPaths.makePath(parent, name);
            if (client.checkExists().forPath(path) != null && Arrays.equals(payload, read(client, path)))
            {
                return path;
            }
        }
        throw new IllegalStateException("holding by a missing node below " + parent);
    }

    private static byte[] read(CuratorFramework client, String path) throws Exception
    {
        try
        {
            return client.getData().forPath(path);
        }
        catch (org.apache.zookeeper.KeeperException.NoNodeException e)
        {
            return null;
        }
    }

    private static Hold hold(InterProcessLock lock, NodePath node)
    {
        return new Hold()
        {
            @Override
            public boolean acquire(long ms) throws Exception
            {
                return take(lock, ms);
            }

            @Override
            public String nodePath() throws Exception
            {
                return node.get();
            }

            @Override
            public void release() throws Exception
            {
                lock.release();
            }
        };
    }

    private interface NodePath
    {
        String get() throws Exception;
    }

    private static Hold hold(InterProcessSemaphoreV2 semaphore, String path)
    {
        return new Hold()
        {
            private Lease lease;

            @Override
            public boolean acquire(long ms) throws Exception
            {
                lease = ms < 0 ? semaphore.acquire() : semaphore.acquire(ms, TimeUnit.MILLISECONDS);
                return lease != null;
            }

            @Override
            public String nodePath()
            {
                return ZKPaths.makePath(ZKPaths.makePath(path, "leases"), lease.getNodeName());
            }

            @Override
            public void release()
            {
                semaphore.returnLease(lease);
            }
        };
    }

    private final CuratorFramework client;
    private final Map<String, Hold> holds = new HashMap<>();
    private final Map<String, ExecutorService> threads = new HashMap<>();
    private final Map<String, InterProcessReadWriteLock> rwLocks = new HashMap<>();
    private final Map<String, LeaderLatch> latches = new HashMap<>();
    private SharedCount count;
    private volatile boolean failed;

    private MatrixPeer(CuratorFramework client)
    {
        this.client = client;
    }

    private Hold open(String recipe, String path, String name) throws Exception
    {
        byte[] payload = ("payload of " + name).getBytes(UTF_8);
        if (recipe.equals("mutex"))
        {
            OpenMutex mutex = new OpenMutex(client, path);
            return hold(mutex, mutex::nodePath);
        }
        if (recipe.equals("semmutex"))
        {
            return hold(new InterProcessSemaphoreMutex(client, path), () -> lowest(client, path + "/leases"));
        }
        if (recipe.equals("multi"))
        {
            OpenMutex mutex = new OpenMutex(client, path);
            List<InterProcessLock> all =
                Arrays.asList(mutex, new InterProcessSemaphoreMutex(client, path + "-second"),
                    new InterProcessReadWriteLock(client, path + "-third").writeLock());
            return hold(new InterProcessMultiLock(all), mutex::nodePath);
        }
        if (recipe.startsWith("semaphore:"))
        {
            int leases = Integer.parseInt(recipe.substring("semaphore:".length()));
            return hold(new InterProcessSemaphoreV2(client, path, leases), path);
        }
        if (recipe.startsWith("counted:"))
        {
            SharedCount own = new SharedCount(client, recipe.substring("counted:".length()), 1);
            own.start();
            return hold(new InterProcessSemaphoreV2(client, path, own), path);
        }
        InterProcessReadWriteLock rwLock = new InterProcessReadWriteLock(client, path, payload);
        rwLocks.put(name, rwLock);
        return hold(recipe.equals("read") ? rwLock.readLock() : rwLock.writeLock(),
            () -> withPayload(client, path, payload));
    }

    private void takeTurns(Hold hold, int thread, int acquisitions, long holdMs)
    {
        try
        {
            for (int i = 0; i < acquisitions && !failed; i++)
            {
                tell("QUEUED " + thread + " " + System.nanoTime());
                hold.acquire(-1);
                long granted = System.nanoTime();
                String node = hold.nodePath();
                Stat stat = client.checkExists().forPath(node);
                if (stat == null)
                {
                    throw new IllegalStateException("holding by a missing node: " + node);
                }
                tell("GRANTED " + thread + " " + granted + " " + ZKPaths.getNodeFromPath(node) + " " + stat.getCzxid());
                Thread.sleep(holdMs);
                tell("RELEASED " + thread + " " + System.nanoTime());
                hold.release();
            }
        }
        catch (Exception e)
        {
            failed = true;
            fail(e);
        }
    }

    /** As LockWorker: threads share what they can. */
    private boolean contend(String[] args) throws Exception
    {
        int n = Integer.parseInt(args[2]);
        int acquisitions = Integer.parseInt(args[3]);
        long holdMs = Long.parseLong(args[4]);
        Thread[] workers = new Thread[n];
        Hold[] opened = new Hold[n];
        for (int i = 0; i < n; i++)
        {
            String recipe = !args[5].equals("rw") ? args[5] : i % 2 == 0 ? "read" : "write";
            opened[i] = open(recipe, args[1], "thread " + i);
        }
        for (int i = 0; i < n; i++)
        {
            int number = i + 1;
            workers[i] = new Thread(() -> takeTurns(opened[number - 1], number, acquisitions, holdMs));
            workers[i].start();
        }
        for (Thread worker : workers)
        {
            worker.join();
        }
        return !failed;
    }

    private interface Step
    {
        void run() throws Exception;
    }

    private void onThread(String name, Step step)
    {
        threads.computeIfAbsent(name, key -> Executors.newSingleThreadExecutor()).submit(() ->
        {
            try
            {
                step.run();
            }
            catch (Throwable e)
            {
                fail(e);
            }
        });
    }

    private void acquire(String name, Hold hold, long ms)
    {
        holds.put(name, hold);
        onThread(name, () -> tell((hold.acquire(ms) ? "ACQUIRED " : "TIMED_OUT ") + name));
    }

    private void acquireRevocable(String name, String recipe, String path)
    {
        InterProcessReadWriteLock rwLock = new InterProcessReadWriteLock(client, path);
        InterProcessMutex lock = recipe.equals("mutex") ? new InterProcessMutex(client, path)
            : recipe.equals("read")                     ? rwLock.readLock()
                                                        : rwLock.writeLock();
        lock.makeRevocable(asked -> tell("ASKED " + name));
        acquire(name, hold(lock, () -> ""), -1);
    }

    private void startLatch(String name, String path) throws Exception
    {
        LeaderLatch latch = new LeaderLatch(client, path, name);
        latches.put(name, latch);
        latch.addListener(new LeaderLatchListener()
        {
            @Override
            public void isLeader()
            {
                tell("LEADING " + name);
            }

            @Override
            public void notLeader()
            {
                tell("FOLLOWING " + name);
            }
        });
        latch.start();
    }

    private void startCount(String path, int seed) throws Exception
    {
        count = new SharedCount(client, path, seed);
        count.addListener(new SharedCountListener()
        {
            @Override
            public void countHasChanged(SharedCountReader changed, int value)
            {
                tell("CHANGED " + value);
            }

            @Override
            public void stateChanged(CuratorFramework framework, ConnectionState state)
            {
                // Told by the client's own listener.
            }
        });
        count.start();
        tell("COUNT " + count.getCount());
    }

    private void obey(String[] words) throws Exception
    {
        switch (words[0])
        {
        case "acquire":
            acquire(words[1], open(words[2], words[3], words[1]), Long.parseLong(words[4]));
            break;
        case "release":
            onThread(words[1], () ->
            {
                holds.get(words[1]).release();
                tell("RELEASED " + words[1]);
            });
            break;
        case "downgrade":
            onThread(words[1], () ->
            {
                InterProcessReadWriteLock rwLock = rwLocks.get(words[1]);
                rwLock.readLock().acquire();
                rwLock.writeLock().release();
                holds.put(words[1], hold(rwLock.readLock(), () -> ""));
                tell("DOWNGRADED " + words[1]);
            });
            break;
        case "revocable":
            acquireRevocable(words[1], words[2], words[3]);
            break;
        case "revoke":
            Revoker.attemptRevoke(client, words[1]);
            tell("REVOKED " + words[1]);
            break;
        case "revoke-packed":
            client.setData().compressed().forPath(words[1], "__REVOKE__".getBytes(UTF_8));
            tell("REVOKED " + words[1]);
            break;
        case "read":
            tell("READ " + new String(client.getData().decompressed().forPath(words[1]), UTF_8));
            break;
        case "lead":
            startLatch(words[1], words[2]);
            break;
        case "leads":
            tell((latches.get(words[1]).hasLeadership() ? "LEADS " : "FOLLOWS ") + words[1]);
            break;
        case "count":
            startCount(words[1], Integer.parseInt(words[2]));
            break;
        case "set":
            count.setCount(Integer.parseInt(words[1]));
            tell("SET " + words[1]);
            break;
        default:
            throw new IllegalArgumentException(words[0]);
        }
    }

    private void obeyAll() throws Exception
    {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine())
        {
            try
            {
                obey(line.split(" "));
            }
            catch (Exception e)
            {
                fail(e);
            }
        }
    }

    private static CuratorFramework connect(String servers, int sessionMs) throws Exception
    {
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
            .connectString(servers)
            .sessionTimeoutMs(sessionMs)
            .connectionTimeoutMs(sessionMs)
            .retryPolicy(new ExponentialBackoffRetry(1000, 3));
        if (System.getProperty("compression") != null)
        {
            // Curator has it from 5.8.0 on.
            CuratorFrameworkFactory.Builder.class.getMethod("enableCompression").invoke(builder);
        }
        CuratorFramework client = builder.build();
        client.getConnectionStateListenable().addListener((framework, state) -> tell("STATE " + state.name()));
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS))
        {
            throw new IllegalStateException("no connection to " + servers);
        }
        return client;
    }

    public static void main(String[] args) throws Exception
    {
        boolean good = false;
        boolean contends = args.length == 6;
        try (CuratorFramework client = connect(args[0], contends ? 60000 : Integer.parseInt(args[1])))
        {
            MatrixPeer peer = new MatrixPeer(client);
            if (contends)
            {
                good = peer.contend(args);
            }
            else
            {
                tell("READY");
                peer.obeyAll();
                good = true;
            }
        }
        catch (Exception e)
        {
            fail(e);
        }
        if (good)
        {
            tell("DONE");
        }
        System.exit(good ? 0 : 1);
    }
}
