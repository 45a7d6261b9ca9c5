"""RocketMQ's remoting protocol: bytes in, frames and answers out. Only ``connection`` and what uses it open sockets."""
