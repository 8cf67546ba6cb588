package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
)

// TestFrozenWrite: a write to a collection that is being rewritten waits until the catalog
// shows the end of the rewriting, or its command is killed.
func TestFrozenWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.create(made{})
		freeze := func(frozen bool) {
			err := s.catalog.Change(t.Context(), func(m *catalog.Mutation) error {
				return m.Put(m.Snapshot().Collection(dbc).With(func(c *catalog.Collection) { c.Frozen = frozen }))
			})
			if err != nil {
				t.Error(err)
			}
		}
		insert := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() {
				n, errs, err := s.Insert(s.op(ctx), dbc, []bson.Raw{s.raw(`{}`)}, true)
				if err == nil && (n != 1 || len(errs) > 0) {
					err = errors.New("not inserted")
				}
				done <- err
			}()
			return done
		}
		waits := func(done <-chan error) {
			synctest.Wait()
			select {
			case err := <-done:
				t.Fatalf("the write did not wait: %v", err)
			default:
			}
		}
		freeze(true)
		ctx, cancel := context.WithCancelCause(t.Context())
		patient, hurried := insert(t.Context()), insert(ctx)
		waits(patient)
		waits(hurried)
		cancel(ErrKilled)
		if err := <-hurried; !errors.Is(err, ErrKilled) {
			t.Errorf("the cancelled write: %v", err)
		}
		freeze(true) // a change of the catalog that does not end the freeze
		waits(patient)
		freeze(false)
		if err := <-patient; err != nil {
			t.Error(err)
		}
	})
}
