package redisstore

import "slices"

// arguments writes a call of the script as script/head.lua describes it.
func arguments(name, which string, batches []*batch, hint int64) []any {
	keys := 0
	for _, b := range batches {
		keys += len(b.keys)
	}
	args := make([]any, 0, 3+keys+16+2*len(batches))
	args = append(args, name, which, keys)
	for _, b := range batches {
		for _, key := range b.keys {
			args = append(args, key)
		}
	}
	shapes, runs := group(batches)
	args = append(args, hint, len(shapes))
	for _, b := range shapes {
		args = appendShape(args, b)
	}
	for _, r := range runs {
		args = append(args, r.shape, r.length)
	}
	return args
}

// run is a number of batches in a row that have one shape.
type run struct{ shape, length int }

// maxShapesCompared bounds the search for an equal shape. Services have a few routes with limits of their own; where
// every batch differs, longer arguments cost less than comparing all.
const maxShapesCompared = 16

// group finds the batches that ask the same. shapes holds the first of each kind; runs count them from 1.
func group(batches []*batch) (shapes []*batch, runs []run) {
	shapes = make([]*batch, 0, 4)
	runs = make([]run, 0, 4)
	for _, b := range batches {
		if last := len(runs) - 1; last >= 0 && slices.Equal(shapes[runs[last].shape-1].asks, b.asks) {
			runs[last].length++
			continue
		}
		shape := 1 + slices.IndexFunc(shapes[:min(len(shapes), maxShapesCompared)], func(s *batch) bool { return slices.Equal(s.asks, b.asks) })
		if shape == 0 {
			shapes = append(shapes, b)
			shape = len(shapes)
		}
		runs = append(runs, run{shape, 1})
	}
	return shapes, runs
}

func appendShape(args []any, b *batch) []any {
	args = append(args, len(b.keys), len(b.asks))
	for i := range b.asks {
		a := &b.asks[i]
		args = append(args, a.place, uint8(a.limit.Algorithm), a.limit.WindowMillis(), a.limit.Requests, a.limit.Capacity(),
			a.cost, uint8(a.mode), a.refundTo)
	}
	return args
}
