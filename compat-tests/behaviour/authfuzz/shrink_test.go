package authfuzz

// smaller removes parts of a request, in at most so many tries, as long as fails reports that the rest still has the
// same violation. It returns the smallest request that it found.
func smaller(r *request, fails func(*request) bool, tries int) *request {
	for again := true; again && tries > 0; {
		again = false
		for i := len(r.sections) - 1; i >= 0 && tries > 0; i-- {
			c := r.clone()
			c.sections = append(c.sections[:i:i], c.sections[i+1:]...)
			if tries--; fails(c) {
				r, again = c, true
			}
		}
		for _, path := range paths(r.body, nil) {
			if tries <= 0 {
				break
			}
			c := r.clone()
			in, at := c.body.follow(path)
			if in == nil || in == c.body && at == 0 {
				continue
			}
			in.remove(at)
			if tries--; fails(c) {
				r, again = c, true
				break
			}
		}
	}
	return r
}

// paths returns the paths of all fields and elements in a value, as indexes, the outer ones first.
func paths(n *node, to []int) (out [][]int) {
	for i := range n.kids {
		out = append(out, append(to[:len(to):len(to)], i))
	}
	for i, k := range n.kids {
		out = append(out, paths(k, append(to[:len(to):len(to)], i))...)
	}
	return out
}

// follow returns the document or array that contains the value at a path, and the index of the value there; nil if
// the path leads nowhere.
func (n *node) follow(path []int) (in *node, at int) {
	for _, i := range path[:len(path)-1] {
		if i >= len(n.kids) {
			return nil, 0
		}
		n = n.kids[i]
	}
	if at = path[len(path)-1]; at >= len(n.kids) {
		return nil, 0
	}
	return n, at
}
