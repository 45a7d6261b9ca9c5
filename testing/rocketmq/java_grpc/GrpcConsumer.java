import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/**
 * A gRPC client of a proxy: {@code endpoints=… group=… kind=push topics=T:*;U:tag threads=2 sleep_ms=0 stuck_while=FILE}.
 * A {@code simple} one has {@code invisible_s=…} and {@code ack=true} besides, and asks for 16 messages at a time.
 * Listeners take {@code sleep_ms} for a message, and hang as long as the file exists. Each message that was consumed is
 * printed, with how often it was delivered. SIGTERM closes the client, as an application would.
 */
public class GrpcConsumer {
    private static final long POLL_MS = 100;
    private static final int MOST = 16;
    private static final Duration AWAIT = Duration.ofSeconds(5);
    private static final long REST_MS = 500;
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();

    public static void main(String[] args) throws Exception {
        Map<String, String> said = new HashMap<>();
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            said.put(parts[0], parts[1]);
        }
        ClientConfiguration configuration = ClientConfiguration.newBuilder()
            .setEndpoints(said.get("endpoints")).enableSsl(false).setRequestTimeout(PATIENCE).build();
        try {
            if (said.get("kind").equals("push")) {
                startPush(said, configuration);
            } else {
                startSimple(said, configuration);
            }
        } catch (ClientException refused) {
            refused.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static Map<String, FilterExpression> subscriptions(Map<String, String> said) {
        Map<String, FilterExpression> subscriptions = new HashMap<>();
        for (String topic : said.get("topics").split(";")) {
            String[] parts = topic.split(":", 2);
            subscriptions.put(parts[0], new FilterExpression(parts[1]));
        }
        return subscriptions;
    }

    private static void startPush(Map<String, String> said, ClientConfiguration configuration) throws Exception {
        PushConsumer consumer = PROVIDER.newPushConsumerBuilder()
            .setClientConfiguration(configuration)
            .setConsumerGroup(said.get("group"))
            .setSubscriptionExpressions(subscriptions(said))
            .setConsumptionThreadCount(Integer.parseInt(said.get("threads")))
            .setMessageListener(message -> {
                work(said);
                note(message);
                return ConsumeResult.SUCCESS;
            })
            .build();
        started(consumer);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(consumer)));
    }

    private static void startSimple(Map<String, String> said, ClientConfiguration configuration) throws Exception {
        SimpleConsumer consumer = PROVIDER.newSimpleConsumerBuilder()
            .setClientConfiguration(configuration)
            .setConsumerGroup(said.get("group"))
            .setAwaitDuration(AWAIT)
            .setSubscriptionExpressions(subscriptions(said))
            .build();
        started(consumer);
        AtomicBoolean stopping = new AtomicBoolean();
        new Thread(() -> {
            while (!stopping.get()) {
                turn(said, consumer);
            }
        }, "receiving").start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping.set(true);
            close(consumer);
        }));
    }

    private static void turn(Map<String, String> said, SimpleConsumer consumer) {
        try {
            Duration invisible = Duration.ofSeconds(Long.parseLong(said.get("invisible_s")));
            for (MessageView message : consumer.receive(MOST, invisible)) {
                work(said);
                note(message);
                if (Boolean.parseBoolean(said.get("ack"))) {
                    consumer.ack(message);
                }
            }
        } catch (Exception refused) {
            System.out.println("refused: " + refused.getMessage());
            rest();
        }
    }

    /** A proxy that is away refuses at once, and an application that asks again at once takes a whole processor. */
    private static void rest() {
        try {
            Thread.sleep(REST_MS);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private static void started(Object consumer) throws ReflectiveOperationException {
        for (Class<?> one = consumer.getClass(); one != null; one = one.getSuperclass()) {
            for (Field field : one.getDeclaredFields()) {
                if (field.getName().equals("clientId")) {
                    field.setAccessible(true);
                    System.out.println("started " + field.get(consumer));
                    return;
                }
            }
        }
        throw new IllegalStateException("no client id in " + consumer.getClass());
    }

    private static void note(MessageView message) {
        System.out.println(
            "consumed " + message.getTopic() + " " + message.getMessageId() + " " + message.getDeliveryAttempt());
    }

    private static void close(AutoCloseable consumer) {
        try {
            consumer.close();
        } catch (Exception failed) {
            failed.printStackTrace();
        }
    }

    private static void work(Map<String, String> said) {
        Path stuckWhile = Paths.get(said.get("stuck_while"));
        try {
            Thread.sleep(Long.parseLong(said.get("sleep_ms")));
            while (Files.exists(stuckWhile)) {
                Thread.sleep(POLL_MS);
            }
        } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
        }
    }
}
