// SPDX-License-Identifier: Apache-2.0
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * The Java side of revocation: holds a lock until its release is requested, or requests the release of others.
 *
 * <pre>
 * hold PATH mutex|read|write   HOLDING node, then for each request REVOKED; releases after the first: RELEASED
 * ask NODE...                  for each node Revoker.attemptRevoke and ASKED
 * ask-compressed NODE...       the same in gzip, and before it READ payload, which must be in gzip
 * </pre>
 */
final class RevocationPeer
{
    private static void tell(String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    private static InterProcessMutex lock(CuratorFramework client, String path, String kind)
    {
        Recipe recipe;
        switch (kind)
        {
        case "read":
            recipe = new Recipe.ReadLock(client, path, new Recipe.WriteLock(client, path));
            break;
        case "write":
            recipe = new Recipe.WriteLock(client, path);
            break;
        default:
            recipe = new Recipe.Mutex(client, path);
            break;
        }
        return (InterProcessMutex)recipe;
    }

    private static void hold(CuratorFramework client, String path, String kind) throws Exception
    {
        Semaphore asked = new Semaphore(0);
        InterProcessMutex lock = lock(client, path, kind);
        lock.makeRevocable(forLock ->
        {
            tell("REVOKED");
            asked.release();
        });
        lock.acquire();
        tell("HOLDING " + ((Recipe)lock).nodePath());
        if (!asked.tryAcquire(60, TimeUnit.SECONDS))
        {
            throw new IllegalStateException("no revocation request");
        }
        lock.release();
        tell("RELEASED");
    }

    public static void main(String[] args) throws Exception
    {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new ExponentialBackoffRetry(1000, 3)))
        {
            client.start();
            if (args[1].equals("hold"))
            {
                hold(client, args[2], args[3]);
            }
            else if (args[1].equals("ask-compressed"))
            {
                for (int i = 2; i < args.length; i++)
                {
                    tell("READ " + new String(client.getData().decompressed().forPath(args[i]), UTF_8));
                    client.setData().compressed().forPath(args[i], "__REVOKE__".getBytes(UTF_8));
                    tell("ASKED");
                }
            }
            else
            {
                for (int i = 2; i < args.length; i++)
                {
                    Revoker.attemptRevoke(client, args[i]);
                    tell("ASKED");
                }
            }
        }
        catch (Exception e)
        {
            tell("ERROR " + e.toString().replace('\n', ' '));
            System.exit(1);
        }
        System.exit(0);
    }
}
