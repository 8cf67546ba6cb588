package memory

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary checks that the tests find a server without a memory limit.
func TestCanary(t *testing.T) {
	for test, sign := range map[string]string{
		"TestQueriesShareMemory": "queries: {", "TestExpressionsOfOneRequest": "were not refused", "TestHalfSentMessages": "messages: {", "TestUncommittedWritesShareMemory": "0 were refused",
	} {
		t.Run(test, func(t *testing.T) { harness.Caught(t, "memory without end", test, sign) })
	}
}
