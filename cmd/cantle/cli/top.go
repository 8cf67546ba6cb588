package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/top"
)

func topVerb(f *pflag.FlagSet) action {
	var o top.Options
	o.Flags(f)
	return func(ctx context.Context, s Streams) error {
		if f.NArg() != 1 {
			return usageErrorf("expected the address of a console or a connection string, as in\n\n  cantle top http://127.0.0.1:8080/")
		}
		if err := o.Check(); err != nil {
			return usageError{err}
		}
		c, err := top.Connect(ctx, f.Arg(0))
		var bad *top.AddressError
		if errors.As(err, &bad) {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		return top.Show(ctx, c, o, s.In, columns.Raw(s.Out))
	}
}
