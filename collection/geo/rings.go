package geo

import "github.com/golang/geo/s2"

// checkRings returns an error for rings that do not make one polygon with holes: two rings that cross or share an
// edge, and holes that share more than one vertex with the outer ring, which is the first. Observed: mongod 7.0.
//
// Errors: 2 BadValue.
func checkRings(loops []*s2.Loop) error {
	if len(loops) < 2 {
		return nil
	}
	if err := shareVertices(loops); err != nil {
		return err
	}
	index := s2.NewShapeIndex()
	ringOf := make(map[s2.Shape]int, len(loops))
	for i, l := range loops {
		line := s2.LaxLoopFromPoints(l.Vertices())
		ringOf[line] = i
		index.Add(line)
	}
	query := s2.NewCrossingEdgeQuery(index)
	for i, l := range loops {
		for k := range l.NumVertices() {
			for shape, edges := range query.CrossingsEdgeMap(l.Vertex(k), l.Vertex(k+1), s2.CrossingTypeInterior) {
				if other := ringOf[shape]; other != i && len(edges) > 0 {
					return bad("Polygon isn't valid: Loops %d and %d cross", i, other)
				}
			}
		}
	}
	return nil
}

// shareVertices returns an error if two rings of a polygon share an edge, or a hole shares two or more vertices with
// the outer ring.
func shareVertices(loops []*s2.Loop) error {
	outer := make(map[s2.Point]bool, loops[0].NumVertices())
	for _, p := range loops[0].Vertices() {
		outer[p] = true
	}
	ringOf := map[[2]s2.Point]int{}
	for i, l := range loops {
		shared := 0
		for k, p := range l.Vertices() {
			next := l.Vertex(k + 1)
			if other, taken := ringOf[[2]s2.Point{p, next}]; taken {
				return bad("Polygon isn't valid: Loops %d and %d have an edge in common", other, i)
			}
			ringOf[[2]s2.Point{p, next}], ringOf[[2]s2.Point{next, p}] = i, i
			if outer[p] {
				shared++
			}
		}
		if i > 0 && shared > 1 {
			return bad("Polygon isn't normalized: Loop %d shares more than one vertex with its parent loop 0", i)
		}
	}
	return nil
}

// checkNesting returns an error for holes of a polygon within other holes. The loops of poly are in the order of
// their nesting, the outer ring first.
func checkNesting(poly *s2.Polygon) error {
	for i := 1; i < poly.NumLoops(); i++ {
		if poly.LastDescendant(i) != i {
			return bad("Polygon interior loops cannot be nested: loop %d lies within another", i+1)
		}
	}
	return nil
}
