package memory

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary checks that the tests of this package find a server with a planted bug: it has no memory limit.
func TestCanary(t *testing.T) {
	for test, sign := range map[string]string{
		"TestQueriesShareMemory": "queries: {", "TestExpressionsOfOneRequest": "were not refused", "TestHalfSentMessages": "messages: {", "TestUncommittedWritesShareMemory": "0 were refused",
	} {
		t.Run(test, func(t *testing.T) { harness.Caught(t, "memory without end", test, sign) })
	}
}
