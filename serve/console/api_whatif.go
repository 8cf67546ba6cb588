package console

import "github.com/cantledb/cantle/collection/mongoerr"

// textReply is the output of a program of the command line.
type textReply struct {
	Text string `json:"text"`
}

// advise returns the output of cantle advise.
func advise(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	if q.Advise == nil {
		return nil, mongoerr.New(mongoerr.CommandNotSupported, "This program has no cantle advise")
	}
	text, err := q.Advise(q.Context(), q.conn.run, ns.String())
	if err != nil {
		return nil, userError(err)
	}
	return textReply{text}, nil
}

// userError returns an error whose text is for the user.
func userError(err error) error {
	if e := mongoerr.From(err); e.Code != mongoerr.InternalError {
		return e
	}
	return mongoerr.New(mongoerr.BadValue, "%s", err)
}

// estimate returns the output of cantle estimate.
func estimate(q *query) (any, error) {
	if q.Estimate == nil {
		return nil, mongoerr.New(mongoerr.CommandNotSupported, "This program has no cantle estimate")
	}
	text, err := q.Estimate(q.Context(), append(texts(q.body.Get("args")), "--prices", q.Console.Server.Cluster.Budgets.PriceList().Name), q.text("document"))
	if err != nil {
		return nil, userError(err)
	}
	return textReply{text}, nil
}
