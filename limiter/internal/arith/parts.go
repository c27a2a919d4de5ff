package arith

// StrictParts is into how many parts the window of a StrictWindow is cut; package algorithm says why.
const StrictParts = 10

// Parts returns how long one part of a StrictWindow is, and how many parts a decision counts before the present one.
// All are in milliseconds. A part is rounded up, and as many parts are counted as cover a window: were it rounded
// down, they would cover less, and a client could have more than the limit within the window.
func Parts(window int64) (length, before int64) {
	length = CeilDiv(window, StrictParts)
	return length, CeilDiv(window, length)
}
