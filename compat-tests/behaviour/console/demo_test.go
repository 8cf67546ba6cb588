package console

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/demo"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// demonstrated sends the load of cantle demo for some seconds to a server whose clock is stopped, with lower rates and a
// fifth of the throughput, and returns the picture of the heat map. README.md shows it.
func demonstrated(t *testing.T, seconds int) []byte {
	s := start(t)
	s.withoutRetries() // retries would wait for real time to pass
	s.stop()
	load := demo.Load{Documents: 2000, Throughput: demo.Throughput / 5, Rate: 3, HotRate: 24,
		Now: func() time.Time { return noon },
		Run: func(ctx context.Context, db string, command bson.Raw) (bson.Raw, error) {
			raw, err := s.client.Database(db).RunCommand(ctx, []byte(command)).Raw()
			if err != nil {
				return nil, &remote.Error{Code: remote.RequestThrottled, Message: err.Error()}
			}
			return bson.Raw(raw), remote.WriteError(bson.Raw(raw))
		}}
	if err := load.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.pass(900) // the inserts lie outside of the picture
	for i := range seconds {
		load.Second(t.Context(), i > seconds/3)
		s.pass(1)
	}
	if n := load.Counts(); n.Refused < int64(seconds) || n.Failed > 0 {
		t.Errorf("%+v", n)
	}
	b := browse(t, s, 1280, 780)
	b.do(reduced("dark"))
	b.open("#/heat?ns=" + demo.Namespace)
	b.has("the tenant behind the heat", demo.HotTenant)
	b.check("it is live", "document.querySelector('.live.on')")
	return b.picture("demo")
}

// pictured is the number of seconds in the picture of the README.
const pictured = 450

// TestDemoPicture checks that the heat map of the demo names the hot tenant. With -pictures it writes the picture, which
// two runs must make alike.
func TestDemoPicture(t *testing.T) {
	if !*shown {
		demonstrated(t, 30)
		return
	}
	first, second := demonstrated(t, pictured), demonstrated(t, pictured)
	if !bytes.Equal(first, second) {
		t.Fatal("a second run makes another picture: " + difference(t, "demo", first, second))
	}
	writeSmall(t, filepath.Join(docsDir, "demo.png"), first)
}
