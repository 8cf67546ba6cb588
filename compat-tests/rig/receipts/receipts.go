// Package receipts collects the charges in the replies that a client gets, and compares them with config.requestUnits.
// The server is started with --reply-charge.
package receipts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// Kinds are the kinds of rows of config.requestUnits, each of which has the same sum.
var Kinds = []string{"user", "application", "bucket", "collection", "shape", "value"}

// Receipt is the charge in one reply, in hundredths of a request unit, and the time of the reply.
type Receipt struct {
	Hundredths int64
	At         time.Time
}

// Receipts holds the charges in the replies to one client, in their order. Safe for concurrent use.
type Receipts struct {
	mu         sync.Mutex
	list       []Receipt
	unanswered int
}

// Options returns the options of a client whose replies are counted, with an application name.
func (r *Receipts) Options(app string) *options.ClientOptions {
	return options.Client().SetAppName(app).SetMonitor(&event.CommandMonitor{
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) { r.note(e.Reply) },
		Failed: func(_ context.Context, e *event.CommandFailedEvent) {
			var refused driver.Error
			if errors.As(e.Failure, &refused) && len(refused.Raw) > 0 {
				r.note(bson.Raw(refused.Raw))
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.unanswered++
		},
	})
}

func (r *Receipts) note(reply bson.Raw) {
	f, ok := reply.Lookup("requestCharge").DoubleOK()
	if !ok || f == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, Receipt{int64(math.Round(f * 100)), time.Now()})
}

// Sum returns the sum of all charges and their number.
func (r *Receipts) Sum() (hundredths, replies int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		hundredths += x.Hundredths
	}
	return hundredths, int64(len(r.list))
}

// Take returns the charges since the last Take, and the number of commands that had no reply.
func (r *Receipts) Take() (list []Receipt, unanswered int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, unanswered = r.list, r.unanswered
	r.list, r.unanswered = nil, 0
	return list, unanswered
}

// Amount is a sum of the ledger.
type Amount struct{ Hundredths, Commands int64 }

// Ledger returns the sums of config.requestUnits by the kind of row, and by application. The commands by which it reads
// are counted after they have ended.
func Ledger(ctx context.Context, c *mongo.Client) (byKind, byApp map[string]Amount, err error) {
	cur, err := c.Database("config").Collection("requestUnits").Aggregate(ctx, bson.A{bson.M{"$group": bson.M{
		"_id":        bson.M{"by": "$by", "app": bson.M{"$cond": bson.A{bson.M{"$eq": bson.A{"$by", "application"}}, "$name", ""}}},
		"hundredths": bson.M{"$sum": "$hundredths"}, "commands": bson.M{"$sum": "$commands"},
	}}})
	if err != nil {
		return nil, nil, err
	}
	var rows []struct {
		ID     struct{ By, App string } `bson:"_id"`
		Amount `bson:",inline"`
	}
	if err := cur.All(ctx, &rows); err != nil {
		return nil, nil, err
	}
	byKind, byApp = map[string]Amount{}, map[string]Amount{}
	for _, x := range rows {
		sum := byKind[x.ID.By]
		byKind[x.ID.By] = Amount{sum.Hundredths + x.Hundredths, sum.Commands + x.Commands}
		if x.ID.By == "application" {
			byApp[x.ID.App] = x.Amount
		}
	}
	return byKind, byApp, nil
}

// Uneven describes the first kind whose rows have another sum than those by user; "" if there is none.
func Uneven(byKind map[string]Amount) string {
	for _, kind := range Kinds {
		if byKind[kind] != byKind["user"] {
			return fmt.Sprintf("the rows by %s add up to %v, those by user to %v", kind, byKind[kind], byKind["user"])
		}
	}
	return ""
}
