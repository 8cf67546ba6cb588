package cosmos

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// certified makes a certificate for one host name, and returns the flags of a server with that certificate, and the
// file of the authority that a client must trust.
func certified(t *testing.T, host string) (flags []string, authority string) {
	t.Helper()
	dir, _ := harness.Certificates(t, "--hosts", host)
	return []string{"--auth", "--tls-mode", "requireTLS", "--tls-certificate-key-file", filepath.Join(dir, "server.pem"),
		"--cosmos-account", "localhost", "--cosmos-key", accountKey}, filepath.Join(dir, "ca.pem")
}

// accountKey contains the special characters that occur in keys of accounts.
const accountKey = "a+key/with+all/of+them=="

// accountString returns the connection string of an account in the documented form, with the authority's file added.
// Source: Azure Cosmos DB for MongoDB, "connect-account".
func accountString(host, authority string) string {
	return fmt.Sprintf("mongodb://%s@%s/?ssl=true&replicaSet=globaldb&retrywrites=false&maxIdleTimeMS=120000&appName=@localhost@&tlsCAFile=%s",
		url.UserPassword("localhost", accountKey), host, url.QueryEscape(authority))
}

// port returns the port in a connection string.
func port(t *testing.T, uri string) string {
	t.Helper()
	_, number, err := net.SplitHostPort(address(t, uri))
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// TestNameOfHandshake checks that a driver connects to the members in hello by the host name of its TLS handshake,
// which is the only name in the certificate.
// Source: RFC 6066 (server_name).
func TestNameOfHandshake(t *testing.T) {
	flags, authority := certified(t, "localhost")
	s := start(t, flags...)
	at := "localhost:" + port(t, s.CosmosURI)
	used(t, connect(t, accountString(at, authority)), at)
}

// TestAdvertisedPort checks that hello has the address of --cosmos-advertise, by which clients reach a forwarded
// port.
func TestAdvertisedPort(t *testing.T) {
	flags, authority := certified(t, "localhost")
	inside := harness.FreeAddr(t)
	_, number, _ := net.SplitHostPort(harness.Balance(t, inside).Addr)
	at := "localhost:" + number
	s := harness.Start(t, harness.Options{Args: append(flags, "--cosmos-listen", inside, "--cosmos-advertise", at)})
	if port(t, s.CosmosURI) != number {
		t.Errorf("the ready line says %s", s.CosmosURI)
	}
	used(t, connect(t, accountString(at, authority)), at)
}

// used checks that a client can write and read, and that the addresses in the server's hello are the one that the
// driver uses.
func used(t *testing.T, client *mongo.Client, at string) {
	t.Helper()
	ctx := harness.Context(t)
	coll := client.Database("test").Collection("c")
	if _, err := coll.InsertOne(ctx, d("_id", 1)); err != nil {
		t.Fatal(err)
	}
	if n, err := coll.CountDocuments(ctx, bson.D{}); err != nil || n != 1 {
		t.Errorf("%d documents, %v", n, err)
	}
	r := run(t, client.Database("admin"), d("hello", 1))
	for _, name := range []string{"me", "primary"} {
		if r.Lookup(name).StringValue() != at {
			t.Errorf("%s is %s, want %s", name, r.Lookup(name), at)
		}
	}
	if hosts, err := r.Lookup("hosts").Array().Values(); err != nil || len(hosts) != 1 || hosts[0].StringValue() != at {
		t.Errorf("hosts are %v, want %s", hosts, at)
	}
}
