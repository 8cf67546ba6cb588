package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/address"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/lint"
	"github.com/cantledb/cantle/collection"
)

// isURI reports whether an argument is a connection string, and not a file.
func isURI(arg string) bool {
	arg = address.URI(arg)
	return strings.HasPrefix(arg, "mongodb://") || strings.HasPrefix(arg, "mongodb+srv://")
}

// linting is the check of a running server.
type linting struct {
	*transfer
	*lint.Linter
	errs       io.Writer
	namespaces int
	keys       map[string]bson.Raw // shard keys by namespace; nil if the user may not read their list
	unread     int                 // databases, collections and lists of databases that the user may not read
}

// lintServer checks the catalog of a server for features that an account of Azure Cosmos DB lacks, and the features
// that clients of the server's Cosmos address used.
// Errors: errors of the connection; unreadError.
func lintServer(ctx context.Context, uri string, l *lint.Linter, limit time.Duration, errs io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t, err := newTransfer(uri, "cantle lint", onOne)
	if err != nil {
		return err
	}
	defer t.end()
	t.waits.showOn(errs)
	c := &linting{transfer: t, Linter: l, errs: errs}
	var throttled *stillThrottledError
	err = c.server(ctx)
	switch {
	case err == nil && c.unread == 0:
	case err == nil:
		err = &unreadError{address.Redact(uri)}
	case errors.As(err, &throttled):
		return fmt.Errorf("%s had no throughput left for %s (throttled %s): try again when it is less busy, or with a longer --timeout", address.Redact(uri), limit, columns.Plural(throttled.throttled, "time"))
	case ctx.Err() == context.DeadlineExceeded:
		return fmt.Errorf("%s was not read within %s; is the server running? --timeout allows more time", address.Redact(uri), limit)
	default:
		return t.explain(err)
	}
	t.waits.summary(errs)
	return err
}

// unreadError is the error of cantle lint if it could check a server only in part, because the user may not read
// everything.
type unreadError struct{ uri string }

func (e *unreadError) Error() string {
	return fmt.Sprintf("a part of %s was not checked, because the user may not read it: this requires the role readAnyDatabase, or read on each database", e.uri)
}

// refused records a part of the server that the user may not read, so that checking continues without it. It returns
// err unchanged if the error has another reason.
func (c *linting) refused(what string, err error) error {
	if !isCode(err, codeUnauthorized) {
		return err
	}
	c.unread++
	fmt.Fprintf(c.errs, "%s: %v\n", what, c.explain(err))
	return nil
}

// codeUnauthorized is the error code of a command that the user may not run.
const codeUnauthorized = 13

func (c *linting) server(ctx context.Context) error {
	reply, err := c.run(ctx, "admin", bson.D{{"listDatabases", 1}, {"nameOnly", true}}.Doc())
	if err != nil {
		return c.refused("the list of databases", err)
	}
	if err := c.shardKeys(ctx); err != nil {
		return err
	}
	list, _ := reply.Get("databases").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		if db, _ := d.Get("name").Str(); !collection.IsInternal(db) {
			if err := c.database(ctx, db); err != nil {
				return err
			}
		}
	}
	c.Namespaces(c.namespaces)
	return c.requests(ctx)
}

// shardKeys reads the shard keys of all collections into c.keys. A server that shards nothing has no list of them.
func (c *linting) shardKeys(ctx context.Context) error {
	keys := map[string]bson.Raw{}
	err := c.scan(ctx, "config", bson.D{{"find", "collections"}}.Doc(), func(doc bson.Raw) error {
		ns, _ := doc.Get("_id").Str()
		if key, ok := doc.Get("key").Doc(); ok && !doc.Get("dropped").Truthy() {
			keys[ns] = key.Clone()
		}
		return nil
	})
	switch {
	case isCode(err, codeUnauthorized): // see key
		return nil
	case isRefusal(err):
		err = nil
	}
	c.keys = keys
	return err
}

// key returns the shard key of a collection, nil without one. If the user may not read the list of all keys, key
// runs the extension command GetCollection, and returns nil if the server refuses it.
func (c *linting) key(ctx context.Context, db, coll string) (bson.Raw, error) {
	if c.keys != nil {
		return c.keys[db+"."+coll], nil
	}
	reply, err := c.run(ctx, db, bson.D{{"customAction", "GetCollection"}, {"collection", coll}}.Doc())
	switch {
	case isCode(err, 59):
		c.keys = map[string]bson.Raw{}
		fmt.Fprintln(c.errs, "shard keys are not checked: the user may not read config.collections")
		return nil, nil
	case isRefusal(err):
		return nil, nil
	}
	key, _ := reply.Get("shardKeyDefinition").Doc()
	return key, err
}

// database checks the collections of a database.
func (c *linting) database(ctx context.Context, db string) error {
	c.namespaces++
	infos, err := c.all(ctx, db, bson.D{{"listCollections", 1}}.Doc())
	if err != nil {
		return c.refused(db, err)
	}
	for _, info := range infos {
		x := &lint.Collection{DB: db}
		x.Name, _ = info.Get("name").Str()
		if strings.HasPrefix(x.Name, "system.") {
			continue
		}
		c.namespaces++
		x.Options, _ = info.Get("options").Doc()
		if kind, _ := info.Get("type").Str(); kind != "view" {
			x.Indexes, err = c.all(ctx, db, bson.D{{"listIndexes", x.Name}}.Doc())
			switch {
			case isCode(err, 26): // dropped since
				continue
			case err != nil:
				if err = c.refused(db+"."+x.Name, err); err != nil {
					return err
				}
			}
			if x.Key, err = c.key(ctx, db, x.Name); err != nil {
				return err
			}
		}
		if err := c.Collection(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// requests adds the features that clients used, which a Cantle server counts. Other servers, and accounts, do not
// count them.
func (c *linting) requests(ctx context.Context) error {
	reply, err := c.run(ctx, "admin", bson.D{{"customAction", "GetRequestReport"}, {"top", 1}}.Doc())
	switch {
	case isCode(err, codeUnauthorized):
		fmt.Fprintln(c.errs, "requests of clients are not checked: this requires the role dbAdminAnyDatabase")
		return nil
	case isRefusal(err):
		return nil
	case err != nil:
		return err
	}
	counted, ok := reply.Get("account").Doc()
	if !ok {
		return nil
	}
	version, _ := counted.Get("version").Str()
	capabilities, _ := counted.Get("capabilities").Str()
	if of := lint.AccountOf(version, capabilities); of != c.Account() {
		fmt.Fprintf(c.errs, "the server counts features that %s refuses, not %s: start it with the same --cosmos-version and --cosmos-capabilities\n", of, c.Account())
	}
	c.Requests(counted)
	return nil
}
