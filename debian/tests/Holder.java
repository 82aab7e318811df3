// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Holder SERVERS PATH: takes the lock and says so; then obeys the lines "release", "try" and "end". */
class Holder {
    public static void main(String[] args) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new ExponentialBackoffRetry(100, 10))) {
            client.start();
            InterProcessMutex mutex = new InterProcessMutex(client, args[1]);
            System.out.println(mutex.acquire(60, TimeUnit.SECONDS) ? "held" : "not acquired");
            for (String line = commands.readLine(); line != null && !line.equals("end"); line = commands.readLine()) {
                if (line.equals("release")) {
                    mutex.release();
                    System.out.println("released");
                } else {
                    System.out.println(mutex.acquire(1, TimeUnit.SECONDS) ? "held" : "busy");
                }
            }
        }
    }
}
