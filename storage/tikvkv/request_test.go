package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// If the client of the cluster gave up, fail returns an error that is not context.Canceled: the caller must not take
// it for a cancellation of its own command.
func TestFail(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	late, ended := &request{caller: ctx}, &request{caller: ctx}
	late.timedOut.Store(true)
	for _, of := range []error{context.Canceled, context.DeadlineExceeded, fmt.Errorf("rpc: %w", context.Canceled)} {
		for _, e := range []*request{late, ended} {
			if err := e.fail(of); !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v became %v", of, err)
			}
		}
	}
	cancel(errors.New("killed"))
	if err := ended.fail(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted command is told %v", err)
	}
}
