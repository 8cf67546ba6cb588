package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/certificates"
)

func certVerb(f *pflag.FlagSet) action {
	dir := f.String("dir", "./cantle-tls", "`folder` for the files; created if it is missing")
	hosts := f.String("hosts", "localhost,127.0.0.1,::1", "comma-separated host `names` and addresses by which clients reach the server")
	client := f.String("client", "cantle-client", "`name` of the client")
	days := f.Int("days", 397, "`days` for which the certificates are valid")
	return func(_ context.Context, s Streams) error {
		if f.NArg() > 0 || *days < 1 || *hosts == "" || *client == "" {
			return usageErrorf("expected flags only, at least one host and one day")
		}
		subject, err := certificates.Make(*dir, strings.Split(*hosts, ","), *client, time.Duration(*days)*24*time.Hour)
		if err != nil {
			return err
		}
		fmt.Fprint(s.Out, certificates.Instructions(*dir, strings.Split(*hosts, ",")[0], subject))
		return nil
	}
}
