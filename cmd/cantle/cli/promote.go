package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const promoteHelp = `Makes a server that follows another one (cantle follow) the primary: it applies what the
other server has written to the place of backups, takes over that place, and accepts
writes. The other server, if it still runs, refuses writes as soon as it notices that.

  cantle promote mongodb://10.0.0.2:27017/

What the other server acknowledged and had not written to the place of backups is not on
the new primary; the other server writes it into rollback files in its --data folder.
URI has the one server to promote. Of a primary the command changes nothing. The user
needs the role clusterManager or clusterAdmin.
`

// promotedEvery is the interval at which promote looks whether the server has started again as the primary.
const promotedEvery = 100 * time.Millisecond

func promoteVerb(f *pflag.FlagSet) action {
	limit := f.Duration("timeout", time.Minute, "maximum time to wait until the server accepts writes")
	return func(ctx context.Context, s Streams) error {
		if f.NArg() != 1 {
			return usageErrorf("expected a connection string, as in\n\n  cantle promote mongodb://10.0.0.2:27017/")
		}
		ctx, cancel := context.WithTimeout(ctx, *limit)
		defer cancel()
		server, err := connect(f.Arg(0), "cantle promote", func(o *options.ClientOptions) error {
			if len(o.Hosts) > 1 {
				return errors.New("give the address of the one server to promote")
			}
			o.SetDirect(true)
			return nil
		})
		if err != nil {
			return err
		}
		defer server.close()
		begun := time.Now()
		if _, err := server.runCommand(ctx, "admin", command("replSetStepUp")); err != nil {
			return err
		}
		for {
			reply, err := server.runCommand(ctx, "admin", command("hello"))
			if err == nil && reply.Get("isWritablePrimary").Truthy() {
				me, _ := reply.Get("me").Str()
				fmt.Fprintf(s.Out, "%s is the primary, after %s\n", me, time.Since(begun).Round(time.Millisecond))
				return nil
			}
			select {
			case <-time.After(promotedEvery):
			case <-ctx.Done():
				return fmt.Errorf("the server was promoted, and does not accept writes yet: %w", errors.Join(err, ctx.Err()))
			}
		}
	}
}
