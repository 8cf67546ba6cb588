package status

import (
	"context"
	"encoding/json"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
)

// currentOpKind of what servers over one store are asked: what they do.
const currentOpKind = "currentOp"

// currentOpBytesMax bounds what one server tells another of what it does; the rest is left out, the youngest first.
const currentOpBytesMax = 3 << 20

// everywhere is currentOps of all servers over the store: this one's first, and a document for each of those that do
// not answer. Jobs are in the store, so every server lists all of them.
// Errors: those of the store, ctx.Err().
func (s *State) everywhere(ctx context.Context, a currentOpArgs) ([]bson.Raw, error) {
	docs := s.currentOps(a)
	if !storage.Several {
		return docs, nil
	}
	body, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	answers, silent, err := s.Cluster.Others.Ask(ctx, currentOpKind, body)
	if err != nil {
		return nil, err
	}
	for _, other := range answers {
		if d, err := bson.Parse(other.Body, bson.Limits{Depth: bson.MaxDepth + 10}); err == nil {
			list, _ := d.Get("ops").Array()
			for v := range list.Values() {
				if d, ok := v.Doc(); ok {
					docs = append(docs, d)
				}
			}
		}
	}
	for _, host := range silent {
		b := bson.NewBuilder(nil)
		b.String("type", "silentServer")
		b.String("host", host)
		b.String("desc", "what this server does is missing: it did not answer in time")
		docs = append(docs, b.Doc())
	}
	return docs, nil
}

// answerCurrentOp tells another server what this one does.
func (s *State) answerCurrentOp(_ context.Context, body []byte) ([]byte, error) {
	var a currentOpArgs
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	a.NoJobs = true
	b := bson.NewBuilder(nil)
	b.BeginArray("ops")
	for _, d := range s.currentOps(a) {
		if b.Len()+len(d) > currentOpBytesMax {
			break
		}
		b.Value("", d.Value())
	}
	b.End()
	return b.Doc(), nil
}
