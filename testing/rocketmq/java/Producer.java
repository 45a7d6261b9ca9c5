import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** Writes to every queue of some topics at an even pace: {@code NAMESRV INTERVAL_MS TOPIC…}. */
public class Producer {
    private static final int TICKS_A_ROUTE = 10;

    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("producers");
        producer.setNamesrvAddr(args[0]);
        producer.setClientIP("127.0.0.1");
        producer.setInstanceName("producer");
        producer.start();
        long intervalMs = Long.parseLong(args[1]);
        List<String> topics = Arrays.asList(args).subList(2, args.length);
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(Math.max(1, topics.size()));
        for (String topic : topics) {
            pool.scheduleAtFixedRate(new Writer(producer, topic), 0, intervalMs, TimeUnit.MILLISECONDS);
        }
        System.out.println("started");
    }

    /** One topic. A queue that cannot be written to is left out this time. */
    private static class Writer implements Runnable {
        private final DefaultMQProducer producer;
        private final String topic;
        private List<MessageQueue> queues = List.of();
        private long ticks;

        Writer(DefaultMQProducer producer, String topic) {
            this.producer = producer;
            this.topic = topic;
        }

        @Override
        public void run() {
            if (ticks++ % TICKS_A_ROUTE == 0 || queues.isEmpty()) {
                try {
                    queues = producer.fetchPublishMessageQueues(topic);
                } catch (Exception unknown) {
                    System.out.println(topic + ": " + unknown.getMessage());
                }
            }
            for (MessageQueue queue : queues) {
                try {
                    producer.sendOneway(new Message(topic, "tag", ("message " + ticks).getBytes()), queue);
                } catch (Exception refused) {
                    System.out.println(queue + ": " + refused.getMessage());
                }
            }
        }
    }
}
