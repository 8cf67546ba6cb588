package agg

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

var (
	winDenseRank      = WindowFunctionDef{Name: "$denseRank", parse: parseRank, ranking: true, Since: "5.0", Doc: "reference/operator/aggregation/denseRank"}
	winDocumentNumber = WindowFunctionDef{Name: "$documentNumber", parse: parseRank, ranking: true, Since: "5.0", Doc: "reference/operator/aggregation/documentNumber"}
	winRank           = WindowFunctionDef{Name: "$rank", parse: parseRank, ranking: true, Since: "5.0", Doc: "reference/operator/aggregation/rank"}
)

// ranking is $rank, $denseRank or $documentNumber.
type ranking struct {
	name  string
	stage *windowStage
}

func parseRank(_ *parser, c *windowCall) (windowFunc, error) {
	if c.window != nil {
		return nil, mongoerr.New(5371601, "Rank style window functions take no other arguments")
	}
	if d, ok := c.arg.Doc(); !ok || !d.IsEmpty() {
		return nil, mongoerr.New(5371603, "%s must be specified with '{}' as the value", c.name)
	}
	if len(c.stage.by.Parts) != 1 {
		return nil, mongoerr.New(5371602, "%s must be specified with a top level sortBy expression with exactly one element", c.name)
	}
	return &ranking{c.name, c.stage}, nil
}

func (f *ranking) paths(add func(string)) {
	f.stage.by.Paths(func(p path.Path) { add(p.String()) })
}

func (f *ranking) start(p *partition) windowRun { return &rankRun{ranking: f, p: p} }

type rankRun struct {
	*ranking
	p         *partition
	last, key []byte
	rank      int64
}

func (r *rankRun) at(env *mql.Env, b *bson.Builder, name string, i int, doc bson.Raw) (err error) {
	if r.name == "$documentNumber" {
		b.Int(name, int64(i)+1)
		return nil
	}
	if r.key, err = exec.AppendKey(env, &r.stage.by, r.key[:0], &exec.Row{Doc: doc, Meta: r.p.meta}); err != nil {
		return err
	}
	if part := &r.stage.by.Parts[0]; part.Meta == "" && !env.Release.Has(release.RankNullAsMissing) && part.Path.Get(doc).IsMissing() {
		r.key = append(r.key, 0) // so that the key of a missing value differs from the key of null
	}
	if i == 0 || !bytes.Equal(r.key, r.last) {
		if r.name == "$rank" {
			r.rank = int64(i) + 1
		} else {
			r.rank++
		}
		r.last = append(r.last[:0], r.key...)
	}
	b.Int(name, r.rank)
	return nil
}

func (r *rankRun) close(*mql.Env) {}
