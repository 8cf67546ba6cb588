package operations

import (
	"context"
	"errors"
	"math"
	"testing"
)

// After 2,147,483,647 commands the ids of operations start again, and killOp still finds an operation by its id.
func TestNumbersBeginAnew(t *testing.T) {
	var r Registry
	r.next.Store(math.MaxInt32 - 1)
	killed := errors.New("killed")
	for conn := range int64(2) {
		var s Slot
		var op Operation
		r.Open(conn, &s)
		ctx := r.Enter(context.Background(), &s, &op, nil)
		if int64(int32(op.ID)) != op.ID || op.ID == 0 {
			t.Errorf("the number %d has no 31 bits", op.ID)
		}
		if !r.Kill(op.ID, killed) || context.Cause(ctx) != killed {
			t.Errorf("operation %d goes on", op.ID)
		}
	}
	if n := r.nextID(); n != 2 {
		t.Errorf("the numbers go on with %d", n)
	}
}
