package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/lint"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/serve/flags"
)

const lintHelp = `Finds features that an Azure Cosmos DB for MongoDB account refuses, before you deploy:

  cantle lint --for cosmos-7.0 commands.json
  cantle lint --for cosmos-4.2 /var/log/mongodb/mongod.log
  cantle lint --for cosmos-7.0 src
  cantle lint --for cosmos-7.0 mongodb://127.0.0.1:27017/

A file has commands, filters, updates or pipelines as extended JSON or in mongosh syntax,
one per line or all in an array:

  {aggregate: "orders", pipeline: [{$bucket: {groupBy: "$total", boundaries: [0, 9]}}]}
  {status: "open", $where: "this.a > 1"}
  [{$match: {status: "open"}}, {$facet: {a: [{$count: "n"}]}}]

A log is from mongod or cantle; its slow commands are checked (all commands with slowms
0). Commands are parsed by the server's own parsers, and run only on an empty server in
memory; features that depend on data and indexes, such as sorts, are only found at the
Cosmos address of a server (cantle serve --cosmos-listen).

Source files (.js, .ts, .py, .java, .cs, .go and so on; for a folder all files below it)
are searched for names of operators and commands.

For a running server, MongoDB or cantle, the catalog is read: options, shard keys and
indexes of all collections. This requires the role readAnyDatabase. A cantle server with a
Cosmos address also counts the refused features that its clients used; these counts
require the role dbAdminAnyDatabase.

  basis  parsed: certain; by name: a guess from source text; served: counted by the server
  error  the error code and text of the account

The exit status is 1 if something is refused, or cannot be read, and 0 otherwise.
`

func lintVerb(f *pflag.FlagSet) action {
	account := f.String("for", lint.Prefix+cosmos.Newest.String(), "`account` and its server version: "+strings.Join(lint.Accounts(), ", "))
	flags.Choose(f, "for", lint.Accounts()...)
	capabilities := f.String("capabilities", "", "`names` of the account's capabilities, separated by commas, from "+(^cosmos.Capabilities(0)).String())
	limit := f.Duration("timeout", time.Minute, "maximum time to read a server")
	asJSON := jsonFlag(f)
	return func(ctx context.Context, s Streams) error {
		if f.NArg() == 0 {
			return usageErrorf("expected files, folders or connection strings, as in\n\n  cantle lint --for cosmos-7.0 commands.json")
		}
		l, err := lint.New(ctx, *account, *capabilities, s.Err)
		if err != nil {
			return usageError{err}
		}
		defer l.Close()
		var unread *unreadError
		for _, name := range f.Args() {
			if !isURI(name) {
				err = l.Path(ctx, name)
			} else if err = lintServer(ctx, name, l, *limit, s.Err); errors.As(err, &unread) {
				continue
			}
			if err != nil {
				return err
			}
		}
		n := 0
		if *asJSON {
			var doc bson.Raw
			doc, n = l.JSON()
			printJSON(s.Out, doc)
		} else {
			n = l.Print(s.Out)
		}
		switch {
		case unread != nil:
			return unread
		case n > 0:
			return exitStatus(1)
		}
		return nil
	}
}
