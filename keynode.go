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
func (n *keyNode) gather(d *keyDraft, r Request) error {
	switch {
	case n.leaf != nil:
		found, err := n.leaf.find(r)
		d.items = append(d.items, keyItem{found: found, composed: n.composed})
		return err
	case n.first != nil:
		return n.gatherFirst(d, r)
	}
	for i := range n.all {
		if err := n.all[i].gather(d, r); err != nil {
			return err
		}
	}
	return nil
}

func (n *keyNode) gatherFirst(d *keyDraft, r Request) error {
	before := len(d.items)
	for i := range n.first {
		branch := &n.first[i]
		d.items = append(d.items[:before], keyItem{mark: branch.mark})
		if err := branch.gather(d, r); err == nil || !errors.Is(err, ErrNoKey) {
			return err
		}
	}
	return ErrNoKey
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

// place is gather for identities found elsewhere. It takes as many parts as it needs and returns the rest.
func (n *keyNode) place(d *keyDraft, parts []string) (rest []string, err error) {
	switch {
	case n.first != nil:
		d.items = append(d.items, keyItem{mark: n.first[0].mark})
		return n.first[0].place(d, parts)
	case n.leaf != nil:
		item := keyItem{composed: n.composed}
		if n.parts() == 1 {
			if item.found, err = n.given(parts[0]); err != nil {
				return nil, err
			}
			parts = parts[1:]
		}
		d.items = append(d.items, item)
		return parts, nil
	}
	for i := range n.all {
		if parts, err = n.all[i].place(d, parts); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// given is the identity that the leaf would have found if its text is part.
func (n *keyNode) given(part string) (identity, error) {
	if client, ok := n.leaf.(*clientResolver); ok {
		return client.given(part)
	}
	return identity{text: part}, nil
}
