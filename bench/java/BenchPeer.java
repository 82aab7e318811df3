// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** The rig's peer that uses Java Curator; ../c/peer.h describes the protocol. */
final class BenchPeer
{
    private static final int SESSION_TIMEOUT_MS = 30000;
    private static final int ENOUGH_SAMPLES = 200000;
    private static final int MEMBERS = 8; // of a multi-lock, as in ../c/recipe.c

    private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    private final Map<String, CuratorFramework> sessions = new HashMap<>();
    private Map<String, String> request = Map.of();

    /** Acquire and release of any recipe. */
    private interface Recipe
    {
        void acquire() throws Exception;

        void release() throws Exception;
    }

    /** Thread bodies may throw: that ends the process, so that no wrong figure is reported. */
    private interface Body
    {
        void run() throws Exception;
    }

    private static Thread start(Body body)
    {
        Thread thread = new Thread(() ->
        {
            try
            {
                body.run();
            }
            catch (Throwable e)
            {
                e.printStackTrace();
                System.exit(1);
            }
        });
        thread.start();
        return thread;
    }

    private static final class Samples
    {
        private final long[] ns = new long[ENOUGH_SAMPLES];
        private int n;

        void add(long value)
        {
            if (n < ns.length)
            {
                ns[n++] = value;
            }
        }

        static String quantiles(List<Samples> all)
        {
            long[] sorted = all.stream().flatMapToLong(s -> Arrays.stream(s.ns, 0, s.n)).sorted().toArray();
            StringBuilder text = new StringBuilder();
            for (int q = 0; sorted.length > 0 && q <= 100; q++)
            {
                long value = sorted[(int)((long)(sorted.length - 1) * q / 100)];
                text.append(q > 0 ? "," : "").append(value / 100 / 10.0);
            }
            return text.toString();
        }
    }

    private static void tell(String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    private void readySteady(int n) throws IOException
    {
        tell("ready n=" + n);
        if (!"go".equals(in.readLine()))
        {
            throw new IOException("no go");
        }
    }

    private String text(String key)
    {
        String value = request.get(key);
        if (value == null)
        {
            throw new IllegalArgumentException(key);
        }
        return value;
    }

    private long number(String key)
    {
        return Long.parseLong(text(key));
    }

    private long number(String key, long otherwise)
    {
        return request.containsKey(key) ? number(key) : otherwise;
    }

    private CuratorFramework session(String server, int i) throws InterruptedException
    {
        String key = server + " " + i;
        CuratorFramework client = sessions.get(key);
        if (client == null)
        {
            client = CuratorFrameworkFactory.newClient(server, SESSION_TIMEOUT_MS, 15000, new ExponentialBackoffRetry(1000, 3));
            client.start();
            if (!client.blockUntilConnected(30, TimeUnit.SECONDS))
            {
                throw new IllegalStateException("no connection to " + server);
            }
            sessions.put(key, client);
        }
        return client;
    }

    private CuratorFramework session(int i) throws InterruptedException
    {
        return session(text("server"), i);
    }

    /** Waits until the path has n children; asks another address, so that a proxy in between does not count these. */
    private void awaitQueue(int n) throws Exception
    {
        CuratorFramework observer = session(text("observe"), -1);
        while (observer.getChildren().forPath(text("path")).size() < n)
        {
            Thread.sleep(10);
        }
    }

    private static Recipe recipe(String name, CuratorFramework client, String path)
    {
        switch (name)
        {
            case "mutex":
                return new MutexRecipe(new InterProcessMutex(client, path));
            case "read":
                return new MutexRecipe(new InterProcessReadWriteLock(client, path).readLock());
            case "write":
                return new MutexRecipe(new InterProcessReadWriteLock(client, path).writeLock());
            case "semmutex":
                return new SemaphoreMutexRecipe(new InterProcessSemaphoreMutex(client, path));
            case "multi":
                List<String> members = new ArrayList<>();
                for (int i = 0; i < MEMBERS; i++)
                {
                    members.add(path + "/" + i);
                }
                return new MultiRecipe(new InterProcessMultiLock(client, members));
            case "semaphore8":
                return new SemaphoreRecipe(new InterProcessSemaphoreV2(client, path, 8));
            case "semaphore":
                return new SemaphoreRecipe(new InterProcessSemaphoreV2(client, path, 1));
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static final class MutexRecipe implements Recipe
    {
        private final InterProcessMutex mutex;

        MutexRecipe(InterProcessMutex mutex)
        {
            this.mutex = mutex;
        }

        @Override
        public void acquire() throws Exception
        {
            mutex.acquire();
        }

        @Override
        public void release() throws Exception
        {
            mutex.release();
        }
    }

    private static final class MultiRecipe implements Recipe
    {
        private final InterProcessMultiLock all;

        MultiRecipe(InterProcessMultiLock all)
        {
            this.all = all;
        }

        @Override
        public void acquire() throws Exception
        {
            all.acquire();
        }

        @Override
        public void release() throws Exception
        {
            all.release();
        }
    }

    private static final class SemaphoreMutexRecipe implements Recipe
    {
        private final InterProcessSemaphoreMutex mutex;

        SemaphoreMutexRecipe(InterProcessSemaphoreMutex mutex)
        {
            this.mutex = mutex;
        }

        @Override
        public void acquire() throws Exception
        {
            mutex.acquire();
        }

        @Override
        public void release() throws Exception
        {
            mutex.release();
        }
    }

    private static final class SemaphoreRecipe implements Recipe
    {
        private final InterProcessSemaphoreV2 semaphore;
        private Lease lease;

        SemaphoreRecipe(InterProcessSemaphoreV2 semaphore)
        {
            this.semaphore = semaphore;
        }

        @Override
        public void acquire() throws Exception
        {
            lease = semaphore.acquire();
        }

        @Override
        public void release()
        {
            semaphore.returnLease(lease);
        }
    }

    private void solo() throws Exception
    {
        long opsWanted = number("ops", Long.MAX_VALUE);
        long ns = number("ms", 3600 * 1000) * 1000000;
        Recipe recipe = recipe(text("recipe"), session(0), text("path"));
        Samples samples = new Samples();
        long began = System.nanoTime();
        long now = began;
        long ops = 0;
        while (ops < opsWanted && now - began < ns)
        {
            recipe.acquire();
            recipe.release();
            long then = now;
            now = System.nanoTime();
            samples.add(now - then);
            ops++;
        }
        tell("ok ops=" + ops + " ns=" + (now - began) + " q=" + Samples.quantiles(List.of(samples)));
    }

    /** Tries that are refused: another session holds the mutex, or another object of the same one. */
    private void tryInVain() throws Exception
    {
        int ops = (int)number("ops");
        boolean own = number("own", 0) != 0;
        InterProcessMutex holder = new InterProcessMutex(own ? session(0) : session(text("observe"), 1), text("path"));
        InterProcessMutex other = new InterProcessMutex(session(0), text("path"));
        Samples samples = new Samples();
        holder.acquire();
        readySteady(ops);
        long began = System.nanoTime();
        long now = began;
        for (int i = 0; i < ops; i++)
        {
            if (other.acquire(0, TimeUnit.MILLISECONDS))
            {
                throw new IllegalStateException("a try should have been refused");
            }
            long then = now;
            now = System.nanoTime();
            samples.add(now - then);
        }
        tell("ready ops=" + ops + " q=" + Samples.quantiles(List.of(samples)));
        in.readLine();
        holder.release();
        tell("ok ops=" + ops + " ns=" + (now - began));
    }

    private static final class Contender
    {
        final Samples waits = new Samples();
        long ops;
        long total;
        Thread thread;

        void contend(Recipe recipe, CountDownLatch begin, AtomicLong stop, long holdMs) throws Exception
        {
            begin.await();
            while (stop.get() == 0)
            {
                long began = System.nanoTime();
                recipe.acquire();
                if (stop.get() == 0)
                {
                    waits.add(System.nanoTime() - began);
                    ops++;
                }
                if (holdMs > 0)
                {
                    Thread.sleep(holdMs);
                }
                recipe.release();
                total++;
            }
        }
    }

    private void crowd() throws Exception
    {
        int n = (int)number("n");
        boolean apart = number("apart", 0) != 0;
        long holdMs = number("hold_ms", 0);
        CountDownLatch begin = new CountDownLatch(1);
        AtomicLong stop = new AtomicLong();
        List<Contender> contenders = new ArrayList<>();
        for (int i = 0; i < n; i++)
        {
            String name = request.getOrDefault("recipe", "mutex");
            name = !name.equals("rw") ? name : i % 10 == 0 ? "write" : "read";
            Recipe recipe = recipe(name, session(i), text("path") + (apart ? "-" + i : ""));
            Contender contender = new Contender();
            contender.thread = start(() -> contender.contend(recipe, begin, stop, holdMs));
            contenders.add(contender);
        }
        readySteady(n);
        long began = System.nanoTime();
        begin.countDown();
        Thread.sleep(number("ms"));
        stop.set(1);
        long ns = System.nanoTime() - began;
        List<Samples> waits = new ArrayList<>();
        long ops = 0;
        long total = 0;
        for (Contender contender : contenders)
        {
            contender.thread.join();
            ops += contender.ops;
            total += contender.total;
            waits.add(contender.waits);
        }
        tell("ok ops=" + ops + " ns=" + ns + " total=" + total + " q=" + Samples.quantiles(waits));
    }

    private static long residentBytes() throws IOException
    {
        String statm = Files.readString(Path.of("/proc/self/statm"));
        return Long.parseLong(statm.split(" ")[1]) * 4096;
    }

    private static void acquireAndRelease(Recipe recipe) throws Exception
    {
        recipe.acquire();
        recipe.release();
    }

    /** One session, n threads with a lock object each: if threads share one, Curator wakes all of them. */
    private void waiters() throws Exception
    {
        int n = (int)number("n");
        Recipe holder = recipe("mutex", session(1), text("path"));
        CuratorFramework client = session(0);
        holder.acquire();
        long resident = residentBytes();
        Thread[] threads = new Thread[n];
        for (int i = 0; i < n; i++)
        {
            Recipe recipe = recipe("mutex", client, text("path"));
            threads[i] = start(() -> acquireAndRelease(recipe));
        }
        awaitQueue(n + 1);
        readySteady(n);
        long each = (residentBytes() - resident) / n;
        long began = System.nanoTime();
        holder.release();
        for (Thread thread : threads)
        {
            thread.join();
        }
        tell("ok ops=" + n + " ns=" + (System.nanoTime() - began) + " resident=" + each);
    }

    private void line() throws Exception
    {
        String[] first = text("first").split(":");
        String[] then = request.getOrDefault("then", first[0] + ":0").split(":");
        int nFirst = Integer.parseInt(first[1]);
        int n = nFirst + Integer.parseInt(then[1]);
        Recipe holder = recipe(first[0], session(0), text("path"));
        holder.acquire();
        Thread[] threads = new Thread[n];
        for (int i = 0; i < n; i++)
        {
            Recipe recipe = recipe(i < nFirst ? first[0] : then[0], session(1 + i), text("path"));
            threads[i] = start(() -> acquireAndRelease(recipe));
            if (i == nFirst - 1 || number("in_turn", 0) != 0)
            {
                awaitQueue(2 + i);
            }
        }
        awaitQueue(1 + n);
        readySteady(n);
        long began = System.nanoTime();
        holder.release();
        for (Thread thread : threads)
        {
            thread.join();
        }
        tell("ok ops=" + n + " ns=" + (System.nanoTime() - began));
    }

    private void paths() throws Exception
    {
        int n = (int)number("n");
        CuratorFramework client = session(0);
        AtomicLong ops = new AtomicLong();
        AtomicLong stop = new AtomicLong();
        Thread[] threads = new Thread[n];
        long began = System.nanoTime();
        for (int i = 0; i < n; i++)
        {
            Recipe recipe = recipe("mutex", client, text("path") + "-" + i);
            threads[i] = start(() ->
            {
                while (stop.get() == 0)
                {
                    acquireAndRelease(recipe);
                    ops.incrementAndGet();
                }
            });
        }
        Thread.sleep(number("ms"));
        stop.set(1);
        long done = ops.get();
        long ns = System.nanoTime() - began;
        for (Thread thread : threads)
        {
            thread.join();
        }
        tell("ok ops=" + done + " ns=" + ns);
    }

    private void reentrant() throws Exception
    {
        long ops = number("ops");
        Recipe recipe = recipe("mutex", session(0), text("path"));
        recipe.acquire();
        long began = System.nanoTime();
        for (long i = 0; i < ops; i++)
        {
            recipe.acquire();
            recipe.release();
        }
        long ns = System.nanoTime() - began;
        recipe.release();
        tell("ok ops=" + ops + " ns=" + ns);
    }

    private static long liveBytes()
    {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private void idle() throws Exception
    {
        int n = (int)number("n");
        InterProcessMutex[] locks = new InterProcessMutex[n];
        CuratorFramework client = session(0);
        long before = liveBytes();
        for (int i = 0; i < n; i++)
        {
            locks[i] = new InterProcessMutex(client, text("path") + "-" + i);
        }
        long bytes = liveBytes() - before;
        tell("ok ops=" + locks.length + " bytes=" + bytes / n);
    }

    private void obey(String line) throws Exception
    {
        String[] words = line.trim().split(" +");
        request = new HashMap<>();
        for (int i = 1; i < words.length; i++)
        {
            String[] pair = words[i].split("=", 2);
            request.put(pair[0], pair[1]);
        }
        switch (words[0])
        {
            case "solo": solo(); break;
            case "crowd": crowd(); break;
            case "waiters": waiters(); break;
            case "line": line(); break;
            case "paths": paths(); break;
            case "reentrant": reentrant(); break;
            case "idle": idle(); break;
            case "try": tryInVain(); break;
            default: throw new IllegalArgumentException(line);
        }
    }

    public static void main(String[] args)
    {
        int status = 0;
        try
        {
            BenchPeer peer = new BenchPeer();
            String line;
            while ((line = peer.in.readLine()) != null)
            {
                peer.obey(line);
            }
        }
        catch (Throwable e)
        {
            e.printStackTrace();
            status = 1;
        }
        System.exit(status);
    }
}
