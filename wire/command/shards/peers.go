package shards

import (
	"context"

	"github.com/cantledb/cantle/bson"
)

// The kinds of calls that this room sends to peers. The bodies of calls and answers are BSON documents.
const (
	callPartitions = "partitions"
	callReport     = "report"
	callTraffic    = "traffic"
)

// registerCalls registers the functions that answer calls of peers.
func (s *State) registerCalls() {
	s.Cluster.Peers.Handle(callPartitions, s.answerPartitions)
	s.Cluster.Peers.Handle(callReport, s.answerReport)
	s.Cluster.Peers.Handle(callTraffic, s.answerTraffic)
}

// callPeers sends a call to all peers, and returns their answers. incomplete lists the peers that did not answer; the
// reply to the client must name them. Errors: errors of the store; an answer that is not a document.
func (s *State) callPeers(ctx context.Context, kind string, body bson.Raw) (docs []bson.Raw, incomplete []string, err error) {
	answers, incomplete, err := s.Cluster.Peers.Call(ctx, kind, body)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range answers {
		d, err := bson.Parse(a.Body, bson.Limits{})
		if err != nil {
			return nil, nil, err
		}
		docs = append(docs, d)
	}
	return docs, incomplete, nil
}

// appendIncomplete appends the field incomplete, if servers did not answer: a sum lacks their part.
func appendIncomplete(b *bson.Builder, unreachable []string) {
	if len(unreachable) == 0 {
		return
	}
	b.BeginArray("incomplete")
	for _, host := range unreachable {
		b.String("", host)
	}
	b.End()
}

// whole returns an integer field of a document that a peer sent; 0 if it is missing or no integer.
func whole(d bson.Raw, name string) int64 {
	n, _ := d.Get(name).AsInt64()
	return n
}

// each calls visit with the documents of an array.
func each(d bson.Raw, name string, visit func(bson.Raw)) {
	list, _ := d.Get(name).Array()
	for v := range list.Values() {
		if one, ok := v.Doc(); ok {
			visit(one)
		}
	}
}
