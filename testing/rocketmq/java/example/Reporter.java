import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;

/** A consumer that reports what it owns as the documentation shows, a line each: {@code NAMESRV GROUP TOPIC}. */
public class Reporter {
    public static void main(String[] args) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[1]);
        consumer.setNamesrvAddr(args[0]);
        consumer.setClientIP("127.0.0.1");
        consumer.subscribe(args[2], "*");
        consumer.registerMessageListener(
            (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        consumer.setMessageQueueListener(
            new OwnQueues("real", consumer, (key, value) -> System.out.println("report\t" + key + "\t" + value)));
        consumer.start();
    }
}
