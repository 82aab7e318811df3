// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.server.DataNode;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/**
 * Sets the counters that number the children of nodes, in the files of a server that is down:
 *
 * <pre>
 * PlantCounter data-dir (path count)...
 * </pre>
 */
final class PlantCounter
{
    private PlantCounter()
    {
    }

    public static void main(String[] args) throws Exception
    {
        File folder = new File(args[0]);
        DataTree tree = new DataTree();
        ConcurrentHashMap<Long, Integer> sessions = new ConcurrentHashMap<>();
        FileTxnSnapLog files = new FileTxnSnapLog(folder, folder);
        files.restore(tree, sessions, (header, record, digest) ->
        {
        });
        for (int i = 1; i + 1 < args.length; i += 2)
        {
            DataNode node = tree.getNode(args[i]);
            synchronized (node)
            {
                node.stat.setCversion(Integer.parseInt(args[i + 1]));
            }
        }
        files.save(tree, sessions, true);
        files.close();
    }
}
