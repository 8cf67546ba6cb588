package tikvkv

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/storagetest"
)

var async = flag.Bool("async", false, "commit in one phase or asynchronously, where that is possible")

// TestReal runs Conformance and Nemesis on a real cluster, if CANTLE_STORAGE=tikv://PD,PD names one;
// scripts/tikv starts one and runs this. -async turns on one-phase and asynchronous commits.
func TestReal(t *testing.T) {
	where := testenv.Storage()
	if !strings.HasPrefix(where, Scheme+"://") {
		t.Skip("CANTLE_STORAGE names no cluster: see scripts/tikv")
	}
	keyspaces := 0
	openReal := func(tb testing.TB) storage.Store {
		keyspaces++
		l, err := ParseLocation(fmt.Sprintf("%s/engine-%d-%d", strings.TrimRight(where, "/"), time.Now().UnixNano(), keyspaces))
		if err != nil {
			tb.Fatal(err)
		}
		s, err := Open(tb.Context(), l, Options{Clock: time.Now, Retention: time.Nanosecond, AsyncCommit: *async, OnePhase: *async})
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
	t.Run("conformance", func(t *testing.T) { storagetest.Conformance(t, openReal) })
	t.Run("nemesis", func(t *testing.T) { storagetest.Nemesis(t, openReal, storagetest.NemesisOptions{Rounds: 40}) })
}
