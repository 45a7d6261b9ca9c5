import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Consumers that pull, one for each name, from the queues that their own rebalance gives them: {@code namesrv=… group=…
 * names=c1;c2 topics=T:*;U:* lite=false}. {@code lite} ones subscribe and poll. SIGTERM shuts all down at once.
 */
@SuppressWarnings("deprecation")
public class PullConsumer {
    private static final int MOST = 32;
    private static final long PAUSE_MS = 200;

    public static void main(String[] args) throws Exception {
        Map<String, String> said = new HashMap<>();
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            said.put(parts[0], parts[1]);
        }
        for (String name : said.get("names").split(";")) {
            if (Boolean.parseBoolean(said.get("lite"))) {
                startLite(said, name);
            } else {
                start(said, name);
            }
        }
    }

    private static void start(Map<String, String> said, String name) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(said.get("group"));
        consumer.setNamesrvAddr(said.get("namesrv"));
        consumer.setClientIP("127.0.0.1");
        consumer.setInstanceName(name);
        for (String topic : said.get("topics").split(";")) {
            consumer.getRegisterTopics().add(topic.split(":", 2)[0]);
        }
        consumer.start();
        System.out.println("started " + consumer.buildMQClientId());
        Set<String> topics = consumer.getRegisterTopics();
        until(consumer::shutdown, name, () -> {
            for (String topic : topics) {
                for (MessageQueue queue : consumer.fetchMessageQueuesInBalance(topic)) {
                    pull(consumer, queue);
                }
            }
            Thread.sleep(PAUSE_MS);
        });
    }

    private static void pull(DefaultMQPullConsumer consumer, MessageQueue queue) throws Exception {
        long from = Math.max(0, consumer.fetchConsumeOffset(queue, false));
        PullResult result = consumer.pull(queue, "*", from, MOST);
        consumer.updateConsumeOffset(queue, result.getNextBeginOffset());
    }

    private static void startLite(Map<String, String> said, String name) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(said.get("group"));
        consumer.setNamesrvAddr(said.get("namesrv"));
        consumer.setClientIP("127.0.0.1");
        consumer.setInstanceName(name);
        for (String topic : said.get("topics").split(";")) {
            String[] parts = topic.split(":", 2);
            consumer.subscribe(parts[0], parts[1]);
        }
        consumer.start();
        System.out.println("started " + consumer.buildMQClientId());
        until(consumer::shutdown, name, () -> consumer.poll(PAUSE_MS));
    }

    private interface Turn {
        void take() throws Exception;
    }

    /** Takes turns in a thread of its own until the process is told to end. A turn that fails is followed by another. */
    private static void until(Runnable shutdown, String name, Turn turn) {
        AtomicBoolean stopping = new AtomicBoolean();
        Thread loop = new Thread(() -> {
            while (!stopping.get()) {
                try {
                    turn.take();
                } catch (Exception refused) {
                    System.out.println(name + ": " + refused.getMessage());
                }
            }
        }, name);
        loop.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping.set(true);
            shutdown.run();
        }));
    }
}
