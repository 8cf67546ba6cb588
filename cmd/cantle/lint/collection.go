package lint

import (
	"context"
	"fmt"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/account"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/ratelimit"
)

// Collection is a collection or a view in the catalog of a server.
type Collection struct {
	DB, Name string
	Options  bson.Raw   // of listCollections
	Key      bson.Raw   // the shard key, nil without one
	Indexes  []bson.Raw // of listIndexes
}

func (c *Collection) ns() string { return c.DB + "." + c.Name }

// ofServer are options that a server makes by itself.
var ofServer = map[string]bool{"autoIndexId": true, "uuid": true}

// Collection checks the options, the shard key and the indexes of a collection: it makes each on the server inside
// the linter, which counts the features that the account lacks.
// Errors: errors of the connection to that server.
func (l *Linter) Collection(ctx context.Context, c *Collection) error {
	l.looked.collections++
	at := location{in: c.ns()}
	create := slices.DeleteFunc(c.Options.D(), func(e bson.E) bool { return ofServer[e[0].(string)] })
	if err := l.try(ctx, at, c.DB, append(bson.D{{"create", c.Name}}, create...).Doc()); err != nil {
		return err
	}
	if c.Key != nil {
		key := c.Key.D()
		for i := range key { // a range of values would make an index of its own
			key[i][1] = "hashed"
		}
		if err := l.try(ctx, at, "admin", bson.D{{"shardCollection", c.ns()}, {"key", key}}.Doc()); err != nil {
			return err
		}
	}
	for _, x := range c.Indexes {
		if account.IsID(x) || account.IsDefault(x) {
			continue
		}
		name, _ := x.Get("name").Str()
		command := bson.D{{"createIndexes", c.Name}, {"indexes", bson.A{account.New(x, c.Options)}}}
		if err := l.try(ctx, location{in: fmt.Sprintf("%s index %s", c.ns(), name)}, c.DB, command.Doc()); err != nil {
			return err
		}
	}
	return l.scratch.clear(ctx, c.DB, "create")
}

// try runs a command on the server inside the linter that makes a part of a collection, and adds the features that
// the command used as findings. The part stays, for the following commands.
func (l *Linter) try(ctx context.Context, at location, db string, command bson.Raw) error {
	reply, err := l.scratch.run(ctx, db, plain(command))
	if err != nil {
		return err
	}
	if err := failure(reply); err != nil {
		l.note(at, "checked in part only: %v", err)
	}
	for _, x := range l.scratch.used() {
		l.add(finding{x, at, parsed, 1}, true)
	}
	return nil
}

// Namespaces adds a finding if a server has more databases and collections together, n, than an account may have,
// unless the account lifts that limit.
func (l *Linter) Namespaces(n int) {
	if row := &cosmos.Rule.Rows()[cosmos.NamespacesMany]; n > ratelimit.NamespacesMax && !l.account.Has(row) {
		l.add(finding{feature{cosmos.Rule, row.Name}, location{in: fmt.Sprintf("all %d of them", n)}, parsed, 1}, true)
	}
}
