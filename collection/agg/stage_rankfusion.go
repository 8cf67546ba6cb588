package agg

import "github.com/cantledb/cantle/bson"

var stageRankFusion = StageDef{Name: rankFusion, Parse: parseRankFusion, Behind: fusionFirst,
	Constraints: fusionConstraints,
	Doc:         "reference/operator/aggregation/rankFusion", Since: "8.0"}

// parseRankFusion reads {input: {pipelines: …}, combination: {weights: …}, scoreDetails: …}.
func parseRankFusion(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	s, fields, err := newFusion(p, rankFusion, arg)
	if err != nil {
		return nil, err
	}
	if _, err = s.parseInput(p, fields, map[string]bson.Type{}); err != nil {
		return nil, err
	}
	if c := fields.top["combination"]; !c.IsMissing() {
		combination, err := fields.read("combination.", bson.Raw(c.Data), map[string]bson.Type{"weights": bson.TypeDocument})
		if err != nil {
			return nil, err
		}
		if combination["weights"].IsMissing() {
			return nil, fields.missing("combination.weights")
		}
		if err := s.parseWeights(bson.Raw(combination["weights"].Data)); err != nil {
			return nil, err
		}
	}
	return s.complete(p)
}
