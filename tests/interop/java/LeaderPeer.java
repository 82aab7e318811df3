// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Candidates of Java Curator's in an election, on command. Arguments: connect string, path, "selector" or "latch",
 * session timeout in milliseconds. Commands on stdin, a line each, and what is printed for them, with times in
 * nanoseconds of CLOCK_MONOTONIC:
 *
 * <pre>
 * start ID     STARTED ID; later LEADS ID ns, and ENDS ID ns when it notices that it leads no more
 * stop ID      closes it: ENDS ID ns before its node is deleted, if it leads; CLOSED ID
 * list         PARTICIPANTS id,id,... (the leader's first), LEADER id
 * </pre>
 *
 * The end of stdin ends the process. ERROR text: something failed.
 */
final class LeaderPeer
{
    private interface Candidate
    {
        void start() throws Exception;

        void stop() throws Exception;

        Collection<Participant> participants() throws Exception;

        Participant leader() throws Exception;
    }

    private LeaderPeer()
    {
    }

    private static synchronized void tell(String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    private static final class Selector extends LeaderSelectorListenerAdapter implements Candidate
    {
        private final String id;
        private final LeaderSelector selector;
        private final CountDownLatch stopped = new CountDownLatch(1);

        Selector(CuratorFramework client, String path, String id)
        {
            this.id = id;
            selector = new LeaderSelector(client, path, this);
            selector.setId(id);
            selector.autoRequeue();
        }

        @Override
        public void takeLeadership(CuratorFramework client)
        {
            tell("LEADS " + id + " " + System.nanoTime());
            try
            {
                stopped.await();
            }
            catch (InterruptedException e)
            {
                Thread.currentThread().interrupt();
            }
            tell("ENDS " + id + " " + System.nanoTime());
        }

        @Override
        public void start()
        {
            selector.start();
        }

        @Override
        public void stop() throws Exception
        {
            stopped.countDown();
            selector.close();
        }

        @Override
        public Collection<Participant> participants() throws Exception
        {
            return selector.getParticipants();
        }

        @Override
        public Participant leader() throws Exception
        {
            return selector.getLeader();
        }
    }

    private static final class Latch implements Candidate
    {
        private final LeaderLatch latch;
        private final String id;

        Latch(CuratorFramework client, String path, String id)
        {
            this.id = id;
            latch = new LeaderLatch(client, path, id);
            latch.addListener(new LeaderLatchListener()
            {
                @Override
                public void isLeader()
                {
                    tell("LEADS " + id + " " + System.nanoTime());
                }

                @Override
                public void notLeader()
                {
                    tell("ENDS " + id + " " + System.nanoTime());
                }
            });
        }

        @Override
        public void start() throws Exception
        {
            latch.start();
        }

        @Override
        public void stop() throws Exception
        {
            // Java deletes the node before it notifies, so the end is told first.
            if (latch.hasLeadership())
            {
                tell("ENDS " + id + " " + System.nanoTime());
            }
            latch.close(LeaderLatch.CloseMode.SILENT);
        }

        @Override
        public Collection<Participant> participants() throws Exception
        {
            return latch.getParticipants();
        }

        @Override
        public Participant leader() throws Exception
        {
            return latch.getLeader();
        }
    }

    private static Candidate create(CuratorFramework client, String path, String recipe, String id)
    {
        return recipe.equals("latch") ? new Latch(client, path, id) : new Selector(client, path, id);
    }

    private static void run(CuratorFramework client, String path, String recipe) throws Exception
    {
        Map<String, Candidate> candidates = new HashMap<>();
        Candidate reader = create(client, path, recipe, "reader");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine())
        {
            String[] words = line.split(" ");
            switch (words[0])
            {
            case "start":
                Candidate candidate = create(client, path, recipe, words[1]);
                candidates.put(words[1], candidate);
                candidate.start();
                tell("STARTED " + words[1]);
                break;
            case "stop":
                candidates.remove(words[1]).stop();
                tell("CLOSED " + words[1]);
                break;
            default:
                tell("PARTICIPANTS "
                    + reader.participants().stream().map(Participant::getId).collect(Collectors.joining(",")));
                tell("LEADER " + reader.leader().getId());
                break;
            }
        }
    }

    public static void main(String[] args) throws Exception
    {
        int sessionMs = Integer.parseInt(args[3]);
        try (CuratorFramework client = CuratorFrameworkFactory.builder()
            .connectString(args[0])
            .sessionTimeoutMs(sessionMs)
            .connectionTimeoutMs(sessionMs)
            .retryPolicy(new ExponentialBackoffRetry(100, 10))
            .ensembleTracker(false)
            .build())
        {
            client.start();
            if (!client.blockUntilConnected(30, TimeUnit.SECONDS))
            {
                throw new IllegalStateException("no connection to " + args[0]);
            }
            tell("READY");
            run(client, args[1], args[2]);
        }
        catch (Exception e)
        {
            tell("ERROR " + e.toString().replace('\n', ' '));
            System.exit(1);
        }
        System.exit(0);
    }
}
