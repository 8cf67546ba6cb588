package top

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/address"
)

// connectTime is the timeout of the request by which a server returns the address of its console.
const connectTime = 10 * time.Second

// Connect makes a client of a console. uri is the console's address (http…), or the connection string of a server,
// which returns the address of its console.
// Errors: a bad address; errors of the connection; a server without a console.
func Connect(ctx context.Context, uri string) (*Client, error) {
	if strings.HasPrefix(uri, "http") {
		return NewClient(uri, Login{}, nil)
	}
	o := options.Client().ApplyURI(address.URI(uri)).SetAppName("cantle top").SetServerSelectionTimeout(connectTime)
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	raw, err := client.Database("admin").RunCommand(ctx, []byte(bson.D{{"getCmdLineOpts", 1}}.Doc())).Raw()
	if err != nil {
		if mongo.IsTimeout(err) {
			err = address.NoAnswer("mongodb://"+strings.Join(o.Hosts, ",")+"/", err)
		}
		return nil, err
	}
	parsed, _ := bson.Raw(raw).Get("parsed").Doc()
	network, _ := parsed.Get("net").Doc()
	at, ok := network.Get("console").Str()
	if !ok {
		return nil, fmt.Errorf("%s has no console: start it with --console-listen 127.0.0.1:8080", strings.Join(o.Hosts, ","))
	}
	var login Login
	if a := o.Auth; a != nil {
		login = Login{User: a.Username, Password: a.Password, Source: a.AuthSource}
	}
	return NewClient(at, login, o.TLSConfig, o.Hosts...)
}
