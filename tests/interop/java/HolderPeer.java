// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Acquires a mutex with Java Curator and holds it until it is killed. Prints Curator's notifications to the holder on
 * stdout, with the time in nanoseconds of CLOCK_MONOTONIC:
 *
 * <pre>
 * GRANTED ns
 * CONNECTED ns, SUSPENDED ns, RECONNECTED ns, LOST ns
 * ERROR text
 * </pre>
 */
final class HolderPeer
{
    private HolderPeer()
    {
    }

    private static synchronized void tell(String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] args) throws Exception
    {
        int sessionMs = Integer.parseInt(args[2]);
        // Without the tracker it uses only the servers of its connect string.
        try (CuratorFramework client = CuratorFrameworkFactory.builder()
            .connectString(args[0])
            .sessionTimeoutMs(sessionMs)
            .connectionTimeoutMs(sessionMs)
            .retryPolicy(new ExponentialBackoffRetry(1000, 3))
            .ensembleTracker(false)
            .build())
        {
            client.getConnectionStateListenable()
                .addListener((framework, state) -> tell(state.name() + " " + System.nanoTime()));
            client.start();
            new InterProcessMutex(client, args[1]).acquire();
            tell("GRANTED " + System.nanoTime());
            new CountDownLatch(1).await();
        }
        catch (Exception e)
        {
            tell("ERROR " + e.toString().replace('\n', ' '));
            System.exit(1);
        }
    }
}
