package cli

import (
	"context"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// onOne restricts the driver to one server if the connection string has several equal ones or a load balancer. A
// getMore must reach the server that opened the cursor, and the driver does not record which one that is for cursors
// opened by RunCommand.
func onOne(o *options.ClientOptions) error {
	switch {
	case balanced(o):
		o.SetMaxPoolSize(1) // the load balancer sends all of a connection to one server
	case len(o.Hosts) > 1 && o.ReplicaSet == nil:
		o.SetHosts(answering(o))
	}
	return nil
}

// balanced reports whether a connection string is for a load balancer.
func balanced(o *options.ClientOptions) bool { return o.LoadBalanced != nil && *o.LoadBalanced }

// selectionTimeout is the timeout for a server to be chosen.
const selectionTimeout = 2 * time.Second

// answering returns one of the hosts that answers, chosen at random, or all of them if none does, so that the driver
// reports the error. If the host is a member of a replica set that the connection string does not name, the driver
// finds the other members through it.
func answering(o *options.ClientOptions) []string {
	for _, i := range rand.Perm(len(o.Hosts)) {
		one := *o
		one.Hosts = o.Hosts[i : i+1]
		if answers(&one) {
			return one.Hosts
		}
	}
	return o.Hosts
}

// answers reports whether a server answers within selectionTimeout, even with an authentication error.
func answers(o *options.ClientOptions) bool {
	client, err := mongo.Connect(o)
	if err != nil {
		return false
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	ctx, cancel := context.WithTimeout(context.Background(), selectionTimeout)
	defer cancel()
	return !mongo.IsTimeout(client.Ping(ctx, nil))
}
