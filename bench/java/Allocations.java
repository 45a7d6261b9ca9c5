import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * What each client of each topic gets from RocketMQ's own strategies, and how long that takes when Java is warm.
 *
 * Arguments: a file of topics, how many topics are one run, rooms, a file for the answers (RocketMQ's own log goes to
 * standard output). A line of the first file is one topic: its queues, a tabulator, its clients. The parts of a list
 * are divided by spaces, those of a queue (topic, broker, number) by commas.
 *
 * The answers: for each strategy a line "time NAME MICROSECONDS" (median of the runs, a topic), and for each client of
 * each topic a line "share NAME TOPIC CLIENT QUEUES...", a queue as in the file.
 */
public class Allocations {
    private static final long WARMING_NS = 2_000_000_000L;
    private static final AllocateMachineRoomNearby.MachineRoomResolver BY_PREFIX =
        new AllocateMachineRoomNearby.MachineRoomResolver() {
            @Override
            public String brokerDeployIn(MessageQueue queue) {
                return queue.getBrokerName().split("-")[0];
            }

            @Override
            public String consumerDeployIn(String clientId) {
                return clientId.split("-")[0];
            }
        };
    private static long allocated; // so that no result goes unused

    private record Topic(List<MessageQueue> queues, List<String> clients) {
        static Topic read(String line) {
            String[] lists = line.split("\t");
            List<MessageQueue> queues = new ArrayList<>();
            for (String queue : lists[0].split(" ")) {
                String[] parts = queue.split(",");
                queues.add(new MessageQueue(parts[0], parts[1], Integer.parseInt(parts[2])));
            }
            return new Topic(queues, List.of(lists[1].split(" ")));
        }

        /** As RebalanceImpl does before it asks a strategy. */
        Topic sorted() {
            Topic sorted = new Topic(new ArrayList<>(queues), new ArrayList<>(clients));
            Collections.sort(sorted.queues);
            Collections.sort(sorted.clients);
            return sorted;
        }
    }

    public static void main(String[] args) throws Exception {
        List<Topic> topics = Files.readAllLines(Path.of(args[0])).stream().map(Topic::read).toList();
        int perRun = Integer.parseInt(args[1]);
        try (PrintStream out = new PrintStream(Files.newOutputStream(Path.of(args[3])))) {
            for (AllocateMessageQueueStrategy strategy : strategies(topics.get(0), Set.of(args[2].split(",")))) {
                printShares(strategy, topics, out);
                warm(strategy, topics);
                out.println("time " + strategy.getName() + " " + medianMicroseconds(strategy, topics, perRun));
            }
            if (allocated == 0) {
                throw new IllegalStateException("no queue was allocated");
            }
        }
    }

    private static List<AllocateMessageQueueStrategy> strategies(Topic first, Set<String> rooms) {
        AllocateMessageQueueByConfig byConfig = new AllocateMessageQueueByConfig();
        byConfig.setMessageQueueList(first.queues.subList(0, 2));
        AllocateMessageQueueByMachineRoom byMachineRoom = new AllocateMessageQueueByMachineRoom();
        byMachineRoom.setConsumeridcs(rooms);
        return List.of(
            new AllocateMessageQueueAveragely(),
            new AllocateMessageQueueAveragelyByCircle(),
            byConfig,
            byMachineRoom,
            new AllocateMessageQueueConsistentHash(),
            new AllocateMachineRoomNearby(new AllocateMessageQueueAveragely(), BY_PREFIX));
    }

    private static void printShares(AllocateMessageQueueStrategy strategy, List<Topic> topics, PrintStream out) {
        for (int number = 0; number < topics.size(); number++) {
            Topic topic = topics.get(number).sorted();
            for (String client : topic.clients) {
                String share = strategy.allocate("group", client, topic.queues, topic.clients).stream()
                    .map(queue -> " " + queue.getTopic() + "," + queue.getBrokerName() + "," + queue.getQueueId())
                    .collect(Collectors.joining());
                out.println("share " + strategy.getName() + " " + number + " " + client + share);
            }
        }
    }

    private static void warm(AllocateMessageQueueStrategy strategy, List<Topic> topics) {
        long began = System.nanoTime();
        while (System.nanoTime() - began < WARMING_NS) {
            allocate(strategy, topics);
        }
    }

    private static double medianMicroseconds(AllocateMessageQueueStrategy strategy, List<Topic> topics, int perRun) {
        long[] runs = new long[topics.size() / perRun];
        for (int run = 0; run < runs.length; run++) {
            List<Topic> some = topics.subList(run * perRun, (run + 1) * perRun);
            long began = System.nanoTime();
            allocate(strategy, some);
            runs[run] = System.nanoTime() - began;
        }
        Arrays.sort(runs);
        return runs[runs.length / 2] / 1000.0 / perRun;
    }

    private static void allocate(AllocateMessageQueueStrategy strategy, List<Topic> topics) {
        for (Topic topic : topics) {
            Topic sorted = topic.sorted();
            for (String client : sorted.clients) {
                allocated += strategy.allocate("group", client, sorted.queues, sorted.clients).size();
            }
        }
    }
}
