package status

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/shard/peers"
)

// currentOpKind is the kind of call to peers that requests the operations that run there.
const currentOpKind = "currentOp"

// currentOpBytesMax is the maximum size of an answer to a peer's currentOp, in bytes; operations that do not fit are
// left out.
const currentOpBytesMax = 3 << 20

// peersTimeout is the timeout of a call to peers. If the store, through which peers are called, does not answer,
// currentOp must still show the operations of this server.
const peersTimeout = 3 * time.Second

// allServers returns the operations of all servers over the store, those of this server first. For each server that did
// not answer it adds a document that reports this, and one for all peers if the store does not answer. Jobs are in the
// store, so this server's list has all of them, and peers leave them out.
func (s *State) allServers(ctx context.Context, a currentOpArgs) []bson.Raw {
	docs := s.currentOps(a)
	ctx, cancel := context.WithTimeout(ctx, peersTimeout)
	defer cancel()
	var answers []peers.Answer
	var unreachable []string
	body, err := json.Marshal(a)
	if err == nil {
		answers, unreachable, err = s.Cluster.Peers.Call(ctx, currentOpKind, body)
	}
	if err != nil {
		docs = append(docs, missingDoc("", "the operations of other servers are missing: the shared store does not answer"))
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
	for _, host := range unreachable {
		docs = append(docs, missingDoc(host, "the operations of this server are missing: it did not answer in time"))
	}
	return docs
}

// missingDoc returns a document for the list of currentOp, which reports that operations are missing: those of the
// server host, or of all peers if host is "".
func missingDoc(host, why string) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("type", "missing")
	if host != "" {
		b.String("host", host)
	}
	b.String("desc", why)
	return b.Doc()
}

// answerCurrentOp returns the operations of this server, without jobs, to a peer. In place of those for which the
// answer has no room (currentOpBytesMax), it has one document with their number.
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
		b.Value("", missingDoc(s.Address(), strconv.Itoa(left)+" operations of this server are missing: they are too large to send; use localOps on this server").Value())
	}
	b.End()
	return b.Doc(), nil
}
