package shards

import (
	"context"

	"github.com/cantledb/cantle/bson"
)

// What this server asks the others, where several share a store: the questions and answers are documents.
const (
	askPartitions = "partitions"
	askReport     = "report"
	askTraffic    = "traffic"
)

// answerOthers has the other servers' questions answered.
func (s *State) answerOthers() {
	s.Cluster.Others.Answer(askPartitions, s.answerPartitions)
	s.Cluster.Others.Answer(askReport, s.answerReport)
	s.Cluster.Others.Answer(askTraffic, s.answerTraffic)
}

// fromOthers asks the other servers, and returns what each of them answers. incomplete are those that
// did not answer, which the reply is to name. Errors: those of the store; what is no document.
func (s *State) fromOthers(ctx context.Context, kind string, question bson.Raw) (told []bson.Raw, incomplete []string, err error) {
	answers, incomplete, err := s.Cluster.Others.Ask(ctx, kind, question)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range answers {
		d, err := bson.Parse(a.Body, bson.Limits{})
		if err != nil {
			return nil, nil, err
		}
		told = append(told, d)
	}
	return told, incomplete, nil
}

// appendIncomplete names the servers whose part is missing from a sum.
func appendIncomplete(b *bson.Builder, silent []string) {
	if len(silent) == 0 {
		return
	}
	b.BeginArray("incomplete")
	for _, host := range silent {
		b.String("", host)
	}
	b.End()
}

// whole is a field of such a document that is a whole number.
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
