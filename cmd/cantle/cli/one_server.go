package cli

import (
	"context"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// onOne has the driver ask one server only, where the connection string has several equal ones or
// a load balancer: commands that go on with a cursor have to come where it was opened, and
// the driver knows nothing of cursors that are opened by commands.
func onOne(o *options.ClientOptions) error {
	switch {
	case balanced(o):
		o.SetMaxPoolSize(1) // a connection leads to one server for as long as it lives
	case len(o.Hosts) > 1 && o.ReplicaSet == nil:
		o.SetHosts(answering(o))
	}
	return nil
}

// balanced reports a connection string that tells of a load balancer.
func balanced(o *options.ClientOptions) bool { return o.LoadBalanced != nil && *o.LoadBalanced }

// answersWithin is how long a server may take to be the one that is asked.
const answersWithin = 2 * time.Second

// answering is one of the hosts that answers, or all of them if none does, which the driver then
// tells of. Of a replica set without a name the driver finds the others by it.
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

// answers reports whether a server says anything, be it that it wants another password.
func answers(o *options.ClientOptions) bool {
	client, err := mongo.Connect(o)
	if err != nil {
		return false
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	ctx, cancel := context.WithTimeout(context.Background(), answersWithin)
	defer cancel()
	return !mongo.IsTimeout(client.Ping(ctx, nil))
}
