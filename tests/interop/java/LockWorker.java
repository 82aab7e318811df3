// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.data.Stat;

/**
 * Threads that take turns with other contenders for the lock, through Java Curator, and print each step on stdout:
 *
 * <pre>
 * SECOND                              connected; with -DbeginsSecond=true, until another one has created the path
 * QUEUED thread t_ns                  before acquire is called
 * GRANTED thread t_ns node czxid      t_ns: right after acquire returned
 * RELEASED thread t_ns                t_ns: before release is called
 * DONE                                all threads have ended
 * ERROR text                          something failed; the process ends with 1
 * </pre>
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, which is what System.nanoTime reads on Linux: all processes of a
 * machine share that clock.
 */
final class LockWorker
{
    private static final String USAGE =
        "connect-string path threads acquisitions(0: until stdin closes) hold-ms RECIPE [think-ms]; RECIPE: "
            + "mutex|semmutex|semaphore:N|counted:SHARED-COUNT-PATH|paths:N|read|write|rw(odd threads read, even ones write)";

    private final CuratorFramework client;
    private final Recipe.Factory recipes;
    private final int threads;
    private final int acquisitions;
    private final long holdMs;
    private final long thinkMs;
    private final CountDownLatch stop = new CountDownLatch(1);
    private volatile boolean failed;

    private LockWorker(CuratorFramework client, String[] args) throws Exception
    {
        this.client = client;
        threads = Integer.parseInt(args[2]);
        acquisitions = Integer.parseInt(args[3]);
        holdMs = Long.parseLong(args[4]);
        recipes = Recipe.named(args[5], client, args[1]);
        thinkMs = args.length > 6 ? Long.parseLong(args[6]) : 0;
    }

    private static synchronized void tell(String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    private void fail(Throwable cause)
    {
        failed = true;
        stop.countDown();
        tell("ERROR " + cause.toString().replace('\n', ' '));
    }

    private boolean goesOn(int done)
    {
        return !failed && (acquisitions == 0 ? stop.getCount() > 0 : done < acquisitions);
    }

    private void takeTurns(int thread)
    {
        try
        {
            Recipe recipe = recipes.forThread(thread);
            for (int done = 0; goesOn(done); done++)
            {
                takeTurn(recipe, thread);
                if (thinkMs > 0)
                {
                    stop.await(thinkMs, TimeUnit.MILLISECONDS);
                }
            }
        }
        catch (Exception e)
        {
            fail(e);
        }
    }

    private void takeTurn(Recipe recipe, int thread) throws Exception
    {
        tell("QUEUED " + thread + " " + System.nanoTime());
        recipe.acquire();
        long granted = System.nanoTime();
        String node = recipe.nodePath();
        Stat stat = client.checkExists().forPath(node);
        if (stat == null)
        {
            throw new IllegalStateException("holding by a missing node: " + node);
        }
        tell("GRANTED " + thread + " " + granted + " " + ZKPaths.getNodeFromPath(node) + " " + stat.getCzxid());
        Thread.sleep(holdMs);
        tell("RELEASED " + thread + " " + System.nanoTime());
        recipe.release();
    }

    private void watchStdin()
    {
        Thread watcher = new Thread(() ->
        {
            try
            {
                while (System.in.read() >= 0)
                {
                    // Only the end of stdin matters.
                }
            }
            catch (java.io.IOException e)
            {
                // Counts as the end.
            }
            stop.countDown();
        });
        watcher.setDaemon(true);
        watcher.start();
    }

    private boolean run() throws InterruptedException
    {
        if (acquisitions == 0)
        {
            watchStdin();
        }
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++)
        {
            int number = i + 1;
            workers[i] = new Thread(() -> takeTurns(number));
            workers[i].start();
        }
        for (Thread worker : workers)
        {
            worker.join();
        }
        return !failed;
    }

    public static void main(String[] args) throws Exception
    {
        if (args.length < 6)
        {
            System.err.println("usage: LockWorker " + USAGE);
            System.exit(64);
        }
        boolean good = false;
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new ExponentialBackoffRetry(1000, 3)))
        {
            client.start();
            LockWorker worker = new LockWorker(client, args);
            if (!client.blockUntilConnected(30, TimeUnit.SECONDS))
            {
                throw new IllegalStateException("no connection to " + args[0]);
            }
            for (; Boolean.getBoolean("beginsSecond") && client.checkExists().forPath(args[1]) == null; Thread.sleep(10))
            {
                tell("SECOND");
            }
            good = worker.run();
        }
        catch (Exception e)
        {
            tell("ERROR " + e.toString().replace('\n', ' '));
        }
        if (good)
        {
            tell("DONE");
        }
        System.exit(good ? 0 : 1);
    }
}
