package top

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/address"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// connectTime is the timeout of the request by which a server returns the address of its console.
const connectTime = 10 * time.Second

// Connect makes a client of a console. uri is the console's address (http…), or the connection string of a server,
// which returns the address of its console.
// Errors: AddressError; errors of the connection; a server without a console.
func Connect(ctx context.Context, uri string) (*Client, error) {
	if strings.HasPrefix(uri, "http") {
		return NewClient(uri, Login{}, nil)
	}
	p, err := pageOf(ctx, uri, "console")
	if err != nil {
		return nil, err
	}
	if p.at == "" {
		return nil, fmt.Errorf("%s has no console: start it with --console-listen 127.0.0.1:8080", strings.Join(p.hosts, ","))
	}
	return NewClient(p.at, p.login, p.config, p.hosts...)
}

// ClientOptions returns the options of the driver's client of a verb. uri is an argument as for address.URI; verb is the
// application name that the server sees. The client polls the state of servers: closing a client that streams it
// sometimes waits for the server's next heartbeat, which is up to 10 s.
func ClientOptions(uri, verb string) *options.ClientOptions {
	return options.Client().ApplyURI(address.URI(uri)).SetAppName(verb).SetServerMonitoringMode(options.ServerMonitoringModePoll)
}

// page is a page that a server serves by HTTP, and by which credentials its clients read it.
type page struct {
	at     string // its address, "" if the server does not have the page
	login  Login
	config *tls.Config
	hosts  []string // by which this client reaches the server
}

// pageOf returns a page of the server of a connection string. name is its field in the server's reply to
// getCmdLineOpts.
// Errors: AddressError; errors of the connection.
func pageOf(ctx context.Context, uri, name string) (*page, error) {
	o := ClientOptions(uri, "cantle top").SetServerSelectionTimeout(connectTime)
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, &AddressError{address.WithoutSecrets(uri, err)}
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	raw, err := client.Database("admin").RunCommand(ctx, []byte(bson.D{{"getCmdLineOpts", 1}}.Doc())).Raw()
	var refused mongo.CommandError
	switch {
	case err == nil:
	case errors.As(err, &refused) && refused.Code == remote.AuthenticationFailed:
		return nil, address.NoLogin(address.URI(uri))
	case errors.As(err, &refused):
		return nil, errors.New(refused.Message)
	case mongo.IsTimeout(err):
		return nil, address.NoAnswer(address.URI(uri), err)
	default:
		return nil, address.WithoutSecrets(uri, err)
	}
	parsed, _ := bson.Raw(raw).Get("parsed").Doc()
	network, _ := parsed.Get("net").Doc()
	p := &page{config: o.TLSConfig, hosts: o.Hosts}
	p.at, _ = network.Get(name).Str()
	if a := o.Auth; a != nil {
		p.login = Login{User: a.Username, Password: a.Password, Source: a.AuthSource}
	}
	return p, nil
}
