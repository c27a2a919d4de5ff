package httplimit

import "errors"

// keyNode is a Key made ready: exactly one of its fields leaf, all and first is set.
type keyNode struct {
	leaf     finder
	composed bool // below a Compose: its text is escaped as a part among others
	all      []keyNode
	first    []keyBranch
}

type keyBranch struct {
	mark string
	keyNode
}

// gather appends what n finds in r. The first error ends it.
func (n *keyNode) gather(items []keyItem, r Request) ([]keyItem, error) {
	switch {
	case n.leaf != nil:
		found, err := n.leaf.find(r)
		return append(items, keyItem{found: found, composed: n.composed}), err
	case n.first != nil:
		return n.gatherFirst(items, r)
	}
	var err error
	for i := range n.all {
		if items, err = n.all[i].gather(items, r); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (n *keyNode) gatherFirst(items []keyItem, r Request) ([]keyItem, error) {
	for i := range n.first {
		branch := &n.first[i]
		tried, err := branch.gather(append(items, keyItem{mark: branch.mark}), r)
		if err == nil || !errors.Is(err, ErrNoKey) {
			return tried, err
		}
	}
	return nil, ErrNoKey
}

// parts is how many identities place wants.
func (n *keyNode) parts() int {
	switch {
	case n.first != nil:
		return n.first[0].parts()
	case n.leaf != nil:
		if _, all := n.leaf.(everyone); all {
			return 0
		}
		return 1
	}
	sum := 0
	for i := range n.all {
		sum += n.all[i].parts()
	}
	return sum
}

// place is gather for identities found elsewhere: it appends them and returns those that are left. There must be as
// many as parts says.
func (n *keyNode) place(items []keyItem, parts []string) ([]keyItem, []string) {
	switch {
	case n.first != nil:
		return n.first[0].place(append(items, keyItem{mark: n.first[0].mark}), parts)
	case n.leaf != nil:
		item := keyItem{composed: n.composed}
		if n.parts() == 1 {
			item.found, parts = n.given(parts[0]), parts[1:]
		}
		return append(items, item), parts
	}
	for i := range n.all {
		items, parts = n.all[i].place(items, parts)
	}
	return items, parts
}

// given is the identity that the leaf would have found if its text is part.
func (n *keyNode) given(part string) identity {
	if client, ok := n.leaf.(*clientResolver); ok {
		return client.given(part)
	}
	return identity{text: part}
}
