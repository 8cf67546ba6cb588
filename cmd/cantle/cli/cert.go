package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/certificates"
)

const certHelp = `Makes certificates for development: an authority of your own, a certificate of the
server that it vouches for, and one of a client, which is a login too. An authority
that is in the folder already is used again, so that who trusts it goes on to.

  ca.pem        the authority: clients trust it, and so does the server
  ca-key.pem    its key
  server.pem    the server's certificate and key
  client.pem    a client's certificate and key
`

func certVerb(f *pflag.FlagSet) action {
	dir := f.String("dir", "./cantle-tls", "`folder` for the files; made when it is missing")
	hosts := f.String("hosts", "localhost,127.0.0.1,::1", "comma-separated `names` and addresses that clients call the server by")
	client := f.String("client", "cantle-client", "`name` of the client")
	days := f.Int("days", 397, "how many `days` they are good for")
	return func(_ context.Context, s Streams) error {
		if f.NArg() > 0 || *days < 1 || *hosts == "" || *client == "" {
			return wrong("expected flags only, at least one host and one day")
		}
		subject, err := certificates.Make(*dir, strings.Split(*hosts, ","), *client, time.Duration(*days)*24*time.Hour)
		if err != nil {
			return err
		}
		path := func(name string) string {
			p, err := filepath.Abs(filepath.Join(*dir, name))
			if err != nil {
				return filepath.Join(*dir, name)
			}
			return p
		}
		host := strings.Split(*hosts, ",")[0]
		fmt.Fprintf(s.Out, `Wrote ca.pem, ca-key.pem, server.pem and client.pem to %[1]s.

Start the server:
  cantle serve --tls-mode requireTLS --tls-certificate-key-file %[2]s --tls-ca-file %[3]s --tls-allow-connections-without-certificates

Connect:
  mongosh "mongodb://%[4]s:27017/?tls=true" --tlsCAFile %[3]s

Log in with the client's certificate, once its user exists:
  db.getSiblingDB("$external").runCommand({createUser: %[5]q, roles: [{role: "readWrite", db: "test"}]})
  mongosh "mongodb://%[4]s:27017/?tls=true&authMechanism=MONGODB-X509&authSource=%%24external" --tlsCAFile %[3]s --tlsCertificateKeyFile %[6]s

Make programs of this machine trust it without --tlsCAFile:
  Debian, Ubuntu  sudo cp %[3]s /usr/local/share/ca-certificates/cantle.crt && sudo update-ca-certificates
  macOS           sudo security add-trusted-cert -d -k /Library/Keychains/System.keychain %[3]s
  Node            export NODE_EXTRA_CA_CERTS=%[3]s
`, *dir, path("server.pem"), path("ca.pem"), host, subject, path("client.pem"))
		return nil
	}
}
