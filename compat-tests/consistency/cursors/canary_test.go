package cursors

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary plants three bugs in servers, which the tests of this package must find: cursors of transactions see
// later writes of the transaction, change streams leave out one event in a thousand, and tailable cursors skip a
// document after they have waited.
func TestCanary(t *testing.T) {
	t.Run("transactions", func(t *testing.T) {
		harness.Caught(t, "cursors see later writes", "TestInTransactions$/^memory", "from the future", "twice", "missing", "out of order")
	})
	t.Run("streams", func(t *testing.T) {
		harness.Caught(t, "a change is left out", "TestMoving$/^memory", "a stream of")
	})
	t.Run("tails", func(t *testing.T) {
		harness.Caught(t, "a cursor goes on at the next moment", "TestMoving$/^memory", "a tailable cursor")
	})
}
