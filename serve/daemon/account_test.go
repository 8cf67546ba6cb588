package daemon

import (
	"net/url"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Some drivers decode a password as a path (RFC 3986), others as a query, where + is a space. Both decodings of the
// printed connection string return the account's key.
func TestAccountKeyInConnectionString(t *testing.T) {
	for name, key := range map[string]string{"made": "", "given": "a+b/c d%2B@:?="} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--memory", "--auth", "--cosmos-listen", "127.0.0.1:0"}
			if key != "" {
				args = append(args, "--cosmos-key", key)
			}
			d, stop := serving(t, args...)
			defer stop()
			uri := d.CosmosURI()
			_, login, _ := strings.Cut(uri, "mongodb://cantle:")
			login, _, _ = strings.Cut(login, "@")
			asPath, err := url.PathUnescape(login)
			if err != nil {
				t.Fatal(err)
			}
			asQuery, err := url.QueryUnescape(login)
			if err != nil || asQuery != asPath || key != "" && asPath != key {
				t.Errorf("%s: %q as a path, %q as a query, %v", uri, asPath, asQuery, err)
			}
			if key == "" && strings.ContainsAny(asPath, "+/") {
				t.Errorf("key %s", asPath)
			}
			client, err := mongo.Connect(options.Client().ApplyURI(uri))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Disconnect(t.Context())
			if err := client.Database("test").RunCommand(t.Context(), bson.D{{Key: "listCollections", Value: 1}}).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
