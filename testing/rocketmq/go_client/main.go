// A push consumer of rocketmq-client-go, with the arguments of testing/rocketmq/java/Consumer.java as far as it has them.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func main() {
	said := map[string]string{}
	for _, argument := range os.Args[1:] {
		key, value, _ := strings.Cut(argument, "=")
		said[key] = value
	}
	rlog.SetLogLevel("warn")
	pushes, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{said["namesrv"]})),
		consumer.WithGroupName(said["group"]),
		consumer.WithInstance(said["name"]),
	)
	check(err)
	for _, subscription := range strings.Split(said["topics"], ";") {
		topic, expression, _ := strings.Cut(subscription, ":")
		check(pushes.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: expression}, consume))
	}
	check(pushes.Start())
	fmt.Println("started", said["name"])
	go endWithStandardInput()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	check(pushes.Shutdown())
}

func endWithStandardInput() {
	io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

func consume(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	return consumer.ConsumeSuccess, nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
