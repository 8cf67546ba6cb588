package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/lint"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/serve/flags"
)

const lintHelp = `Finds what an account of Azure Cosmos DB for MongoDB refuses, before it does:

  cantle lint --for cosmos-7.0 commands.json
  cantle lint --for cosmos-4.2 /var/log/mongodb/mongod.log
  cantle lint --for cosmos-7.0 src
  cantle lint --for cosmos-7.0 mongodb://127.0.0.1:27017/

A file has commands, filters, updates or pipelines as extended JSON, as typed into mongosh,
one a line or all in an array:

  {aggregate: "orders", pipeline: [{$bucket: {groupBy: "$total", boundaries: [0, 9]}}]}
  {status: "open", $where: "this.a > 1"}
  [{$match: {status: "open"}}, {$facet: {a: [{$count: "n"}]}}]

A log is that of mongod or of cantle; its slow commands are looked at (with slowms 0, all).
Commands are read by the server's own parsers, and run nowhere but on an empty server in
memory; features that depend on data and indexes, such as sorts, are found at the Cosmos
address only (cantle serve --cosmos-listen).

Source files (.js, .ts, .py, .java, .cs, .go and so on; of a folder all below it) are
searched for names of operators and commands.

Of a running server, MongoDB's or cantle, the catalog is read: options, shard keys and
indexes of all collections. The role readAnyDatabase is enough. A cantle with a Cosmos
address has counted besides what its clients used and an account refuses; these counts it
shows to users with the role dbAdminAnyDatabase.

  basis    parsed: certain; by name: a guess, from source text; served: counted by the server
  answers  the code and text that clients of an account see

The exit status is 1 if something is refused, or cannot be read, and 0 otherwise.
`

func lintVerb(f *pflag.FlagSet) action {
	account := f.String("for", lint.Prefix+cosmos.Newest.String(), "`account` and its server version: "+strings.Join(lint.Accounts(), ", "))
	flags.Choose(f, "for", lint.Accounts()...)
	capabilities := f.String("capabilities", "", "`names` of capabilities of the account, separated by commas, of "+(^cosmos.Capabilities(0)).String())
	limit := f.Duration("timeout", time.Minute, "how long to read a server")
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
		switch n := l.Print(s.Out); {
		case unread != nil:
			return unread
		case n > 0:
			return faultsError(n)
		}
		return nil
	}
}
