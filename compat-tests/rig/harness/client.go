package harness

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Connect opens an official driver client. Later options override earlier ones.
func Connect(uri string, more ...*options.ClientOptions) (*mongo.Client, error) {
	base := options.Client().ApplyURI(uri).SetServerSelectionTimeout(20 * time.Second)
	return mongo.Connect(append([]*options.ClientOptions{base}, more...)...)
}

// Client opens an official driver client for a test and closes it at its end.
func (s *Server) Client(tb testing.TB, more ...*options.ClientOptions) *mongo.Client {
	tb.Helper()
	c, err := Connect(s.URI, more...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		select {
		case <-s.done:
			cancel() // the server may be gone: do not let the driver wait to end its sessions
		default:
		}
		if err := c.Disconnect(ctx); err != nil {
			tb.Errorf("disconnect: %v", err)
		}
	})
	return c
}

// Disconnect closes a client whose server may be gone. It bounds the time for which the driver tries to reach
// a server to end the client's sessions.
func Disconnect(c *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Disconnect(ctx)
}

// Context returns a context that ends with the test or after two minutes.
func Context(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	tb.Cleanup(cancel)
	return ctx
}
