package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/certificates"
)

// certDaysMax is the maximum of --days: certificates have years of four digits, and 100 years are enough.
const certDaysMax = 36_500

func certVerb(f *pflag.FlagSet) action {
	dir := f.String("dir", "./cantle-tls", "`folder` for the files; created if it is missing")
	hosts := f.String("hosts", "localhost,127.0.0.1,::1", "comma-separated host `names` and addresses by which clients reach the server")
	client := f.String("client", "cantle-client", "`name` of the client")
	days := f.Int("days", 397, "`days` for which the certificates are valid")
	return func(_ context.Context, s Streams) error {
		names := strings.Split(*hosts, ",")
		for i, name := range names {
			names[i] = strings.TrimSpace(name)
		}
		switch {
		case f.NArg() > 0:
			return usageErrorf("unexpected argument %q; all settings are flags", f.Arg(0))
		case slices.Contains(names, ""):
			return usageErrorf("--hosts has an empty name")
		case *client == "":
			return usageErrorf("--client has no name")
		case *days < 1 || *days > certDaysMax:
			return usageErrorf("--days is from 1 to %d", certDaysMax)
		}
		subject, err := certificates.Make(*dir, names, *client, time.Duration(*days)*24*time.Hour)
		if err != nil {
			return err
		}
		fmt.Fprint(s.Out, certificates.Instructions(*dir, names[0], subject))
		return nil
	}
}
