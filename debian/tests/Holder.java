// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Holder SERVERS PATH: takes the lock, says so, and holds it until its input ends. */
class Holder {
    public static void main(String[] args) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new ExponentialBackoffRetry(100, 10))) {
            client.start();
            InterProcessMutex mutex = new InterProcessMutex(client, args[1]);
            if (!mutex.acquire(60, TimeUnit.SECONDS)) {
                throw new IllegalStateException("not acquired");
            }
            System.out.println("held");
            System.in.read();
            mutex.release();
        }
    }
}
