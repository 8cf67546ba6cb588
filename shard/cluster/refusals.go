package cluster

import (
	"errors"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/router"
)

// Refusal is a statement of a command that did not run because budgets refused it, or, in an ordered batch, a statement
// before it.
type Refusal struct {
	ratelimit.Scope     // where it would have worked
	Index           int // of the statement in the command, 0 if the command is no batch
}

// noteRefusal adds a statement to the refusals of the op if err is the refusal of a budget.
func (o *Op) noteRefusal(scope ratelimit.Scope, err error) {
	var t *ratelimit.Throttled
	if errors.As(err, &t) || errors.Is(err, ratelimit.ErrRetryTimeout) {
		o.Refusals = append(o.Refusals, Refusal{Scope: scope})
	}
}

// noteUntried adds the documents that an ordered insert did not try, if the reason is the refusal of a document before:
// the client sends them again.
func (o *Op) noteUntried(coll *catalog.Collection, reason *mongoerr.Error, groups ...[]router.Placed) {
	if reason.Code != ratelimit.CodeThrottled || len(o.Refusals) == 0 {
		return
	}
	for _, docs := range groups {
		for _, p := range docs {
			o.Refusals = append(o.Refusals, Refusal{scopeOf(coll, []*shard.Descriptor{p.Shard}), p.Index})
		}
	}
}

// NoteStatement notes that the refusals from the given number on belong to the statement with an index, and with
// untried > 0 that so many statements after it were not tried. They are assumed to work where that one would have.
func (o *Op) NoteStatement(from, index, untried int) {
	if from >= len(o.Refusals) {
		return
	}
	for i := from; i < len(o.Refusals); i++ {
		o.Refusals[i].Index = index
	}
	scope := o.Refusals[from].Scope
	for i := range untried {
		o.Refusals = append(o.Refusals, Refusal{scope, index + 1 + i})
	}
}
