package status

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/shard/survey"
)

// currentOpKind of what servers over one store are asked: what they do.
const currentOpKind = "currentOp"

// currentOpBytesMax bounds what one server tells another of what it does; what does not fit is left out.
const currentOpBytesMax = 3 << 20

// othersMax bounds how long others are asked: where the store is away, what this server does is to be seen all the same.
const othersMax = 3 * time.Second

// everywhere is currentOps of all servers over the store: this one's first, and a document that says so where
// some are missing. Jobs are in the store, so every server lists all of them.
func (s *State) everywhere(ctx context.Context, a currentOpArgs) []bson.Raw {
	docs := s.currentOps(a)
	if s.Cluster.Others == nil {
		return docs
	}
	ctx, cancel := context.WithTimeout(ctx, othersMax)
	defer cancel()
	var answers []survey.Answer
	var silent []string
	body, err := json.Marshal(a)
	if err == nil {
		answers, silent, err = s.Cluster.Others.Ask(ctx, currentOpKind, body)
	}
	if err != nil {
		docs = append(docs, missing("", "what other servers do is missing: the store that they share does not answer"))
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
		docs = append(docs, missing(host, "what this server does is missing: it did not answer in time"))
	}
	return docs
}

// missing says that something is not listed, of a server or of all others.
func missing(host, why string) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("type", "missing")
	if host != "" {
		b.String("host", host)
	}
	b.String("desc", why)
	return b.Doc()
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
	left := 0
	for _, d := range s.currentOps(a) {
		if b.Len()+len(d) > currentOpBytesMax {
			left++
			continue
		}
		b.Value("", d.Value())
	}
	if left > 0 {
		b.Value("", missing(s.Address(), strconv.Itoa(left)+" of what this server does are missing: they are too large to be told; ask it with localOps").Value())
	}
	b.End()
	return b.Doc(), nil
}
