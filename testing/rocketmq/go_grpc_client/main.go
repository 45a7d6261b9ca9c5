// A gRPC client in Go, with the arguments of testing/rocketmq/java_grpc/GrpcConsumer.java as far as it has them.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const (
	await     = 5 * time.Second
	invisible = 20 * time.Second
	most      = 16
)

func main() {
	said := map[string]string{}
	for _, argument := range os.Args[1:] {
		key, value, _ := strings.Cut(argument, "=")
		said[key] = value
	}
	rmq.EnableSsl = false
	subscriptions := map[string]*rmq.FilterExpression{}
	for _, subscription := range strings.Split(said["topics"], ";") {
		topic, expression, _ := strings.Cut(subscription, ":")
		subscriptions[topic] = rmq.NewFilterExpression(expression)
	}
	config := &rmq.Config{
		Endpoint: said["endpoints"], ConsumerGroup: said["group"], Credentials: &credentials.SessionCredentials{},
	}
	stop := start(said["kind"], config, subscriptions)
	fmt.Println("started")
	go endWithStandardInput()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	check(stop())
}

// start returns what ends the client in good order.
func start(kind string, config *rmq.Config, subscriptions map[string]*rmq.FilterExpression) func() error {
	if kind == "push" {
		pushes, err := rmq.NewPushConsumer(config,
			rmq.WithPushAwaitDuration(await),
			rmq.WithPushSubscriptionExpressions(subscriptions),
			rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: note}),
		)
		check(err)
		check(pushes.Start())
		return pushes.GracefulStop
	}
	simple, err := rmq.NewSimpleConsumer(config,
		rmq.WithSimpleAwaitDuration(await), rmq.WithSimpleSubscriptionExpressions(subscriptions))
	check(err)
	check(simple.Start())
	go receive(simple)
	return simple.GracefulStop
}

func receive(simple rmq.SimpleConsumer) {
	for {
		messages, err := simple.Receive(context.Background(), most, invisible)
		if err != nil {
			fmt.Println("refused:", err)
			time.Sleep(time.Second)
		}
		for _, message := range messages {
			note(message)
			if err := simple.Ack(context.Background(), message); err != nil {
				fmt.Println("refused:", err)
			}
		}
	}
}

func note(message *rmq.MessageView) rmq.ConsumerResult {
	fmt.Println("consumed", message.GetTopic(), message.GetMessageId(), message.GetDeliveryAttempt())
	return rmq.SUCCESS
}

func endWithStandardInput() {
	io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
