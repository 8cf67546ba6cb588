package cli

import (
	"context"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// onOne restricts the driver to one server if the connection string has several equal ones or a load balancer: a
// getMore must be sent to the server that opened the cursor, and the driver does not track cursors that are
// opened by RunCommand.
func onOne(o *options.ClientOptions) error {
	switch {
	case balanced(o):
		o.SetMaxPoolSize(1) // a connection leads to one server for as long as it lives
	case len(o.Hosts) > 1 && o.ReplicaSet == nil:
		o.SetHosts(answering(o))
	}
	return nil
}

// balanced reports whether a connection string is for a load balancer.
func balanced(o *options.ClientOptions) bool { return o.LoadBalanced != nil && *o.LoadBalanced }

// selectionTimeout is the timeout for a server to be chosen.
const selectionTimeout = 2 * time.Second

// answering returns a random host that answers, or all of them if none does, so that the driver reports the
// error. If it is of a replica set whose name is not in the string, the driver finds the other members by it.
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

// answers reports whether a server answers at all, even with an authentication error.
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
