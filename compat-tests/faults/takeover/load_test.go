package takeover

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/pair"
)

// writers is the number of clients of a load.
const writers = 4

// load is the writes of clients that have both hosts. Each retries what fails as its driver does, and has no other code for
// errors.
type load struct {
	pair.Acks
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func startLoad(t *testing.T, p *pair.Pair) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	client := p.Both()
	for w := range writers {
		l.all.Go(func() { l.run(ctx, client, fmt.Sprintf("client %d", w)) })
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) stop() {
	l.cancel()
	l.all.Wait()
}

// run writes numbers in ascending order until ctx ends.
func (l *load) run(ctx context.Context, client *mongo.Client, name string) {
	session, err := client.StartSession()
	if err != nil {
		l.Fail(err.Error())
		return
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	in, coll := mongo.NewSessionContext(ctx, session), client.Database(pair.LoadDatabase).Collection(pair.LoadCollection)
	for n := 0; ctx.Err() == nil; n++ {
		id := bson.D{{Key: "_id", Value: bson.D{{Key: "w", Value: name}, {Key: "part", Value: n / pair.PerDoc}}}}
		_, err := coll.UpdateOne(in, id, bson.D{{Key: "$push", Value: bson.D{{Key: "n", Value: n}}}}, options.UpdateOne().SetUpsert(true))
		switch {
		case err == nil:
			l.Add(name, pair.Write{N: n, At: *session.OperationTime(), By: time.Now()})
		case ctx.Err() == nil:
			l.Fail(err.Error())
		}
	}
}
