import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Push consumers, one for each name: {@code namesrv=… group=… names=c1;c2 topics=T:*;U:tag strategy=AVG model=CLUSTERING
 * orderly=false threads=2 sleep_ms=0 stuck_while=FILE}, {@code queues=TOPIC,BROKER,0;…} with {@code strategy=CONFIG},
 * {@code pops=true} for clients that leave the balance to brokers (RocketMQ 5),
 * and {@code access_key=… secret_key=…} where ACL asks for them. Listeners take {@code sleep_ms} for a message, and hang
 * as long as the file exists. SIGTERM shuts all down at once, as an application would.
 */
public class Consumer {
    private static final long POLL_MS = 100;

    public static void main(String[] args) throws Exception {
        Map<String, String> said = new HashMap<>();
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            said.put(parts[0], parts[1]);
        }
        for (String name : said.get("names").split(";")) {
            start(said, name);
        }
    }

    private static void start(Map<String, String> said, String name) throws Exception {
        DefaultMQPushConsumer consumer = consumer(said);
        consumer.setNamesrvAddr(said.get("namesrv"));
        consumer.setClientIP("127.0.0.1");
        consumer.setInstanceName(name);
        consumer.setAllocateMessageQueueStrategy(strategy(said));
        int threads = Integer.parseInt(said.get("threads"));
        consumer.setConsumeThreadMin(threads);
        consumer.setConsumeThreadMax(threads);
        setModel(consumer, said.get("model"));
        if (Boolean.parseBoolean(said.get("pops"))) {
            DefaultMQPushConsumer.class.getMethod("setClientRebalance", boolean.class).invoke(consumer, false);
        }
        for (String topic : said.get("topics").split(";")) {
            String[] parts = topic.split(":", 2);
            consumer.subscribe(parts[0], parts[1]);
        }
        listen(consumer, said);
        try {
            consumer.start();
        } catch (Exception refused) {
            refused.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(consumer::shutdown));
        System.out.println("started " + consumer.buildMQClientId());
    }

    private static DefaultMQPushConsumer consumer(Map<String, String> said) {
        if (!said.containsKey("access_key")) {
            return new DefaultMQPushConsumer(said.get("group"));
        }
        SessionCredentials credentials = new SessionCredentials(said.get("access_key"), said.get("secret_key"));
        return new DefaultMQPushConsumer(
                said.get("group"), new AclClientRPCHook(credentials), new AllocateMessageQueueAveragely());
    }

    private static AllocateMessageQueueStrategy strategy(Map<String, String> said) {
        String name = said.get("strategy");
        switch (name) {
            case "AVG":
                return new AllocateMessageQueueAveragely();
            case "AVG_BY_CIRCLE":
                return new AllocateMessageQueueAveragelyByCircle();
            case "CONSISTENT_HASH":
                return new AllocateMessageQueueConsistentHash();
            case "CONFIG":
                AllocateMessageQueueByConfig byConfig = new AllocateMessageQueueByConfig();
                byConfig.setMessageQueueList(queues(said.get("queues")));
                return byConfig;
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static List<MessageQueue> queues(String all) {
        List<MessageQueue> queues = new ArrayList<>();
        for (String queue : all.split(";")) {
            String[] parts = queue.split(",");
            queues.add(new MessageQueue(parts[0], parts[1], Integer.parseInt(parts[2])));
        }
        return queues;
    }

    /** The enum is in another package since RocketMQ 5. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void setModel(DefaultMQPushConsumer consumer, String name) throws Exception {
        for (Method method : DefaultMQPushConsumer.class.getMethods()) {
            if (method.getName().equals("setMessageModel")) {
                method.invoke(consumer, Enum.valueOf((Class) method.getParameterTypes()[0], name));
            }
        }
    }

    private static void listen(DefaultMQPushConsumer consumer, Map<String, String> said) {
        long sleepMs = Long.parseLong(said.get("sleep_ms"));
        Path stuckWhile = Paths.get(said.get("stuck_while"));
        if (Boolean.parseBoolean(said.get("orderly"))) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                work(sleepMs * messages.size(), stuckWhile);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                work(sleepMs * messages.size(), stuckWhile);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
    }

    private static void work(long millis, Path stuckWhile) {
        try {
            Thread.sleep(millis);
            while (Files.exists(stuckWhile)) {
                Thread.sleep(POLL_MS);
            }
        } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
        }
    }
}
