package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// requestUnitsMax is the largest value of the argument maxRequestUnits.
const requestUnitsMax = 1_000_000_000

// limits holds whether a server accepts the argument maxRequestUnits.
type limits struct {
	once     sync.Once
	settable bool
}

// exceedDefaults returns a command that reads or writes documents with the largest maxRequestUnits, because a transfer costs
// as much as its data. With it, the default limits do not hold for users that may change them (setThroughput); for others they
// do. Other commands are returned as they are, as all are for a server without the argument: MongoDB, and the Cosmos address.
func (t *transfer) exceedDefaults(ctx context.Context, command bson.Raw) bson.Raw {
	first, _ := command.First()
	switch string(first.Name) {
	case "find", "aggregate", "count", "insert", "update", "delete":
	default:
		return command
	}
	t.limits.once.Do(func() {
		build, err := t.run(ctx, "admin", bson.D{{"buildInfo", 1}}.Doc())
		account, failed := t.account(ctx)
		_, cantle := build.Get("cantle").Doc()
		t.limits.settable = err == nil && failed == nil && cantle && !account
	})
	if !t.limits.settable {
		return command
	}
	b := bson.NewBuilder(nil)
	b.Splice(command.Elements())
	b.Int64("maxRequestUnits", requestUnitsMax)
	return b.Doc()
}

// explain is server.explain, with the next step for a transfer that a default limit stopped.
func (t *transfer) explain(err error) error {
	var stopped mongo.CommandError
	if errors.As(err, &stopped) && stopped.Code == remote.RequestUnitsExceeded {
		return fmt.Errorf("%s; for this transfer use the MongoDB address and a user with the privilege setThroughput on the collection, for which no default holds", stopped.Message)
	}
	return t.server.explain(err)
}
