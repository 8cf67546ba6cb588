package cli

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/gateways"
)

func gatewaysVerb(f *pflag.FlagSet) action {
	asJSON := f.Bool("json", false, "print one JSON document per server")
	limit := f.Duration("timeout", 10*time.Second, "maximum time to wait for an answer")
	return func(ctx context.Context, s Streams) error {
		if f.NArg() != 1 {
			return usageErrorf("expected a connection string, as in\n\n  cantle gateways mongodb://127.0.0.1:27017/")
		}
		ctx, cancel := context.WithTimeout(ctx, *limit)
		defer cancel()
		reply, err := runOnce(ctx, f.Arg(0), "cantle gateways", "config", gateways.Command(), s.Err)
		if err == nil {
			gateways.Print(s.Out, reply, *asJSON)
		}
		return err
	}
}
