package lint

import (
	"context"
	"fmt"

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

// Collection checks the options, the shard key and the indexes of a collection: each is made on the server of
// the linter. Errors: those of that server's connection.
func (l *Linter) Collection(ctx context.Context, c *Collection) error {
	l.looked.collections++
	at := location{in: c.ns()}
	b := bson.NewBuilder(nil)
	b.String("create", c.Name)
	for name, v := range c.Options.Fields() {
		if !ofServer[string(name)] {
			b.ValueBytes(name, v)
		}
	}
	if err := l.try(ctx, at, c.DB, b.Doc()); err != nil {
		return err
	}
	if c.Key != nil {
		b.Reset(nil)
		b.String("shardCollection", c.ns())
		b.BeginDoc("key")
		for name := range c.Key.Fields() { // a range of values would make an index of its own
			b.String(string(name), "hashed")
		}
		b.End()
		if err := l.try(ctx, at, "admin", b.Doc()); err != nil {
			return err
		}
	}
	for _, x := range c.Indexes {
		if account.IsID(x) || account.IsDefault(x) {
			continue
		}
		name, _ := x.Get("name").Str()
		b.Reset(nil)
		b.String("createIndexes", c.Name)
		b.BeginArray("indexes")
		b.Raw("", account.New(x, c.Options))
		b.End()
		if err := l.try(ctx, location{in: fmt.Sprintf("%s index %s", c.ns(), name)}, c.DB, b.Doc()); err != nil {
			return err
		}
	}
	return l.scratch.clear(ctx, c.DB, "create")
}

// try runs a command that makes a part of a collection, which stays, and adds the features that it used.
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

// Namespaces checks the number of databases and collections of a server.
func (l *Linter) Namespaces(n int) {
	if row := &cosmos.Rule.Rows()[cosmos.NamespacesMany]; n > ratelimit.NamespacesMax && !l.account.Has(row) {
		l.add(finding{feature{cosmos.Rule, row.Name}, location{in: fmt.Sprintf("all %d of them", n)}, parsed, 1}, true)
	}
}
