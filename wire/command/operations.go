package command

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
)

// operations is the commands that run now: currentOp lists them, killOp ends
// one.
type operations struct {
	next atomic.Int64
	m    sync.Map // int64 → *operation
}

// operation is one running command.
type operation struct {
	ID      int64
	Command bson.Raw // a copy is made only when somebody looks: see describe
	NS      string
	Desc    string
	AppName string
	Conn    int64
	Client  string
	Start   time.Time
	cancel  context.CancelCauseFunc
	call    *Call
}

// opcounters are the counters of serverStatus.
type statistics struct {
	insert, query, update, delete, getmore, command atomic.Int64
	bytesIn, bytesOut, requests                     atomic.Int64
}

func (o *operations) each(visit func(*operation)) {
	var list []*operation
	o.m.Range(func(_, v any) bool { list = append(list, v.(*operation)); return true })
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	for _, op := range list {
		visit(op)
	}
}

// kill interrupts an operation; false when there is none.
func (o *operations) kill(id int64, cause error) bool {
	v, ok := o.m.Load(id)
	if !ok {
		return false
	}
	v.(*operation).cancel(cause)
	return true
}
